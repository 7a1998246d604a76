"""What may be kept in memory goes by what is free."""

import torch

from stablepred.core import resources
from stablepred.core.resources import room_to_keep


def test_a_quarter_of_the_free_memory_is_kept_and_of_a_containers_where_it_has_less(
    monkeypatch, tmp_path
):
    cpu, gib = torch.device("cpu"), 1 << 30
    monkeypatch.setattr(resources, "CONTAINER", tmp_path)
    monkeypatch.setattr(
        "os.sysconf", {"SC_AVPHYS_PAGES": 64 * gib // 4096, "SC_PAGE_SIZE": 4096}.get
    )
    assert room_to_keep(cpu) == 16 * gib // 8
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text(f"{2 * gib}\n")
    assert room_to_keep(cpu) == 16 * gib // 8
    (tmp_path / "memory.max").write_text(f"{14 * gib}\n")
    assert room_to_keep(cpu) == 3 * gib // 8
    (tmp_path / "memory.max").write_text(f"{3 * gib}\n")
    assert room_to_keep(cpu) == gib // 8  # never less than a gigabyte
