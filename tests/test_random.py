import numpy as np
import pytest
import torch

from stablepred._random import child_seed, numpy_generator, root_seed, torch_generator


def test_a_child_seed_depends_on_the_seed_and_on_every_label():
    seeds = {
        child_seed(0),
        child_seed(1),
        child_seed(0, "a"),
        child_seed(0, "b"),
        child_seed(0, "a", 1),
        child_seed(0, "a", "1"),
        child_seed(0, "a1"),
    }
    assert len(seeds) == 7
    assert child_seed(3, "encoder", 2) == child_seed(3, "encoder", 2)


def test_child_seeds_are_the_same_on_every_machine():
    """A change here changes every published number."""
    assert child_seed(0, "encoder", 0) == 1596516853


def test_generators_of_one_purpose_draw_the_same():
    assert numpy_generator(1, "a").random() == numpy_generator(1, "a").random()
    assert numpy_generator(1, "a").random() != numpy_generator(1, "b").random()
    one, other = (torch.randn(3, generator=torch_generator(1, "a")) for _ in range(2))
    assert torch.equal(one, other)


def test_the_root_seed_of_a_number_is_the_number():
    assert root_seed(7) == 7
    assert root_seed(np.int64(7)) == 7


def test_the_root_seed_of_a_generator_is_its_next_draw():
    one, other = np.random.RandomState(3), np.random.RandomState(3)
    assert root_seed(one) == root_seed(other)
    assert root_seed(one) != root_seed(np.random.RandomState(3))


def test_what_is_no_seed_is_refused():
    with pytest.raises(ValueError, match="seed"):
        root_seed("seven")
