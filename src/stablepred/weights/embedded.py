"""Global balancing of an embedding (paper, eq. 17).

    L_Bal(v) = sum_j || phi(X_{-j})' (v * x_j) / v'x_j
                        - phi(X_{-j})' (v * (1 - x_j)) / v'(1 - x_j) ||^2

as in ``raw.py``, with phi an encoder. Rows with x_ij = 0 are their own X_{-j} and need no second
encoding.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from stablepred.core.memory import room_to_keep
from stablepred.core.networks import AutoEncoder, Layer, encode_from
from stablepred.core.objective import ValueAndGradient
from stablepred.core.sharding import LOCAL, Local
from stablepred.sample import Sample
from stablepred.weights.raw import compare_sides

# Rows x treatments that are encoded at once: few enough for a processor's cache, enough to keep a
# GPU busy.
CHUNK = {"cpu": 1 << 13, "cuda": 1 << 21}
SMALLEST_CHUNK = 1 << 10
# Entries of a fixed encoder's embeddings that are computed at once where not all can be kept.
TOGETHER = {"cpu": 1 << 22, "cuda": 1 << 26}

# (rows, treatments, embeddings of those rows with that treatment's column removed)
RemovedChunk = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class EmbeddedBalance:
    """The loss above.

    With ``standardize`` each coordinate is measured in units of its standard deviation, so that
    shrinking the embedding gains nothing.
    """

    standardize: bool = True

    def prepare(self, sample: Sample, network: AutoEncoder | None) -> ValueAndGradient:
        """The loss at a fixed network, as a function of the row weights alone."""
        assert network is not None
        scale = None
        if self.standardize:
            scale = embedding_scale(sample, network.encode(sample.x))
        return FixedEncoder(network.encoder, sample.x, scale, sample.shared, sample.shards)

    def of_network(self, sample: Sample, w: Tensor, network: AutoEncoder) -> Tensor:
        """The loss at fixed weights, differentiable in the network."""
        phi = network.encode(sample.x)
        scale = embedding_scale(sample, phi) if self.standardize else None
        removed = removed_embeddings(network.encoder, sample.x, sample.shared)
        gaps = embedded_imbalance(
            sample.x, sample.mass * w, phi, removed, scale, sample.shared, sample.shards
        )
        return gaps.square().sum()


def embedding_scale(sample: Sample, phi: Tensor) -> Tensor:
    """Standard deviation of each coordinate of the embedding over the training rows: (d,)."""
    (mean,) = sample.shards.in_every_shard([sample.total(sample.mass @ phi)])
    variance = sample.total(sample.mass @ (phi - mean).square())
    return torch.as_tensor((variance + 1e-12).sqrt())


def removed_embeddings(
    layers: list[Layer],
    x: Tensor,
    shared: Tensor | None = None,
    chunk: int | None = None,
) -> Iterator[RemovedChunk]:
    """Embed every row with column j removed, for the rows that this changes, in bounded memory.

    Rows with x_ij = 0 are their own X_{-j} and need no second encoding (with products among the
    columns: rows in which no column that shares a source with j is one). With column j zeroed, the
    pre-activation of the first layer is that of the full row minus column j of A^(1).
    """
    first, bias = layers[0]
    before = x @ first.T + bias  # (n, d1)
    flat = [tensor for layer in layers for tensor in layer]

    treatments, rows = _touched(x, shared).T.nonzero(as_tuple=True)

    def encode(part: slice, before: Tensor, *flat: Tensor) -> Tensor:
        if shared is None:
            removed = flat[0].T[treatments[part]]  # (m, d1)
        else:
            removed = (x[rows[part]] * shared[treatments[part]]) @ flat[0].T
        later = list(zip(flat[2::2], flat[3::2], strict=True))
        return encode_from(before[rows[part]] - removed, later)

    def make(part: slice) -> Tensor:
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in flat):
            again: Tensor = checkpoint(encode, part, before, *flat, use_reentrant=False)
            return again
        return encode(part, before, *flat)

    for part, embedded in _piecewise(make, len(rows), chunk or CHUNK[x.device.type]):
        yield rows[part], treatments[part], embedded


def _piecewise(
    encode: Callable[[slice], Tensor], length: int, chunk: int
) -> Iterator[tuple[slice, Tensor]]:
    """Encode ``chunk`` items at a time, or fewer where they do not fit in a GPU's memory."""
    start = 0
    while start < length:
        part = slice(start, min(start + chunk, length))
        try:
            embedded = encode(part)
        except torch.cuda.OutOfMemoryError:
            if chunk <= SMALLEST_CHUNK:
                raise
            chunk //= 2
            continue
        yield part, embedded
        start += chunk


def _touched(x: Tensor, shared: Tensor | None) -> Tensor:
    """Which rows change when treatment j is removed: (n, p), 0/1."""
    return x if shared is None else ((x @ shared.to(x.dtype)) > 0).to(x.dtype)


def embedded_imbalance(
    x: Tensor,
    v: Tensor,
    phi: Tensor,
    removed: Iterable[RemovedChunk],
    scale: Tensor | None = None,
    shared: Tensor | None = None,
    shards: Local = LOCAL,
) -> Tensor:
    """Weighted mean of phi_k(X_{-j}) with x_j = 1 minus with x_j = 0, for all (j, k): (p, d).

    ``phi`` (n, d) embeds the full rows, ``removed`` comes from :func:`removed_embeddings`.
    ``scale`` (d,) divides each coordinate; with the embedding's own standard deviation the result
    does not change when the embedding shrinks.
    """
    treated = torch.zeros(x.shape[1], phi.shape[1], dtype=x.dtype, device=x.device)
    control = ((1 - _touched(x, shared)) * v[:, None]).T @ phi  # (p, d)
    for rows, treatments, embedded in removed:
        weighted = v[rows, None] * embedded
        if shared is None:
            treated = _add(treated, treatments, weighted)
        else:
            side = x[rows, treatments][:, None]
            treated = _add(treated, treatments, weighted * side)
            control = _add(control, treatments, weighted * (1 - side))
    sums = (v @ x, v @ (1 - x), v.sum())
    treated, control, *sides = shards.totals(treated, control, *sums)
    on, off, comparable = compare_sides(*sides)
    gaps = (treated / on[:, None] - control / off[:, None]) * comparable[:, None]
    return gaps if scale is None else gaps / scale


def _add(sums: Tensor, treatments: Tensor, values: Tensor) -> Tensor:
    """Add the values of each treatment, which are adjacent, to its sums, in a fixed order."""
    if not values.is_cuda:
        return sums.index_add(0, treatments, values)
    # On a GPU the order in which index_add adds changes from call to call.
    sizes = torch.bincount(treatments, minlength=len(sums)).tolist()
    return sums + torch.stack([own.sum(0) for own in values.split(sizes)])


class FixedEncoder:
    """L_Bal on the embedding of a fixed encoder, as a function of the row weights alone.

    The embeddings with a column removed are kept in memory if they fit. If not, they are computed
    again at each evaluation, a few treatments at a time: everything about a treatment follows from
    its own rows, so its embeddings are computed once for both its means and its gradient. Matrices
    are stored as (columns, rows), which makes products of narrow matrices fast.
    """

    def __init__(
        self,
        layers: list[Layer],
        x: Tensor,
        scale: Tensor | None,
        shared: Tensor | None = None,
        shards: Local = LOCAL,
        keep_at_most: int | None = None,
    ) -> None:
        (self._first, bias), *self._rest = layers
        self._shards = shards
        self._shared = shared
        self._scale = x.new_ones(()) if scale is None else scale
        self._on = x.T.contiguous()  # (p, n)
        self._off = 1 - self._on
        self._untouched = self._off if shared is None else 1 - _touched(x, shared).T
        self._before = x @ self._first.T + bias  # (n, d1)
        self._phi = self._encode(self._before.sigmoid())  # (d, n)
        sizes = len(x) - self._untouched.sum(1)
        self._sizes = [int(size) for size in sizes.tolist()]  # rows that a treatment touches
        # Processes that share the rows send one message per part, so all must cut in the same way.
        numbers = [int(size) * len(self._phi) for size in shards.largest(sizes).tolist()]
        room = room_to_keep(x.device) if keep_at_most is None else keep_at_most
        self._kept = self._make_all() if sum(numbers) <= room else None
        if shards.largest(float(self._kept is None)):
            self._kept = None
        most = sum(numbers) if self._kept is not None else TOGETHER[x.device.type]
        self._parts = list(_consecutive(numbers, most))

    def __call__(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """L_Bal and its gradient in ``v``.

        With T_j and C_j the weighted means of phi(X_{-j}) with x_j = 1 and with x_j = 0, s the
        scale and H = 2 (T - C) / s^2, the chain rule gives

            dL/dv_i = sum_j (x_ij / on_j - (1 - x_ij) / off_j) phi(X_{-j})_i' H_j
                      - sum_j x_ij T_j'H_j / on_j + sum_j (1 - x_ij) C_j'H_j / off_j
        """
        gradient = torch.zeros_like(v)
        value, (on, off, treated, control, _, slopes) = self._evaluate(v, gradient)
        slope_on = (slopes * treated).sum(1) / on  # (p,)
        slope_off = (slopes * control).sum(1) / off
        gradient += slope_off.sum() - (slope_on + slope_off) @ self._on
        untouched = (slopes / off[:, None]).T @ self._untouched  # (d, n)
        gradient -= untouched.mul_(self._phi).sum(0)
        return value, gradient

    def _evaluate(self, v: Tensor, gradient: Tensor | None = None) -> "tuple[Tensor, _Compared]":
        """L_Bal and its parts; adds the gradient through the rows with a column removed."""
        on, off = self._on @ v, self._off @ v
        control = self._untouched @ (v * self._phi).T  # (p, d)
        found = []
        for part in self._parts:
            slices = self._make(part) if self._kept is None else self._kept
            one = self._compare(slices, v, control[part], (on[part], off[part], v.sum()), part)
            if gradient is not None:
                self._add_slopes(slices, one, part, gradient)
            found.append(one)
        compared = _Compared(*(torch.cat(parts) for parts in zip(*found, strict=True)))
        return compared.gaps.square().sum(), compared

    def _compare(
        self,
        slices: "list[_Slice]",
        v: Tensor,
        control: Tensor,
        sides: tuple[Tensor, Tensor, Tensor],
        part: slice,
    ) -> "_Compared":
        """The two sides of some treatments under the row weights ``v``."""
        means = []
        for k, (rows, embedded) in enumerate(slices):
            weights = v.index_select(0, rows)
            if self._shared is not None:
                side = self._on[part.start + k, rows]
                control[k] += embedded @ (weights * (1 - side))
                weights = weights * side
            means.append(embedded @ weights)
        treated, control, *sums = self._shards.totals(torch.stack(means), control, *sides)
        on, off, comparable = compare_sides(*sums)
        treated, control = treated / on[:, None], control / off[:, None]
        gaps = (treated - control) * comparable[:, None] / self._scale
        return _Compared(on, off, treated, control, gaps, 2 * gaps / self._scale)

    def _add_slopes(
        self, slices: "list[_Slice]", compared: "_Compared", part: slice, gradient: Tensor
    ) -> None:
        """Add the contribution of the rows with a column removed to the gradient."""
        on, off = compared.on, compared.off
        treated = compared.slopes / on[:, None]
        for k, (rows, embedded) in enumerate(slices):
            along = treated[k] @ embedded
            if self._shared is not None:
                side = self._on[part.start + k, rows]
                along *= side - (1 - side) * (on[k] / off[k])
            gradient.index_add_(0, rows, along)

    def _make_all(self) -> "list[_Slice] | None":
        try:
            return self._make(slice(0, len(self._sizes)))
        except torch.cuda.OutOfMemoryError:
            return None

    def _make(self, part: slice) -> "list[_Slice]":
        """Embeddings with the columns of some treatments removed."""
        _, rows = (self._untouched[part] == 0).nonzero(as_tuple=True)
        own = rows.split(self._sizes[part])
        return [(rows, self._without(part.start + k, rows)) for k, rows in enumerate(own)]

    def _without(self, j: int, rows: Tensor) -> Tensor:
        """Embeddings of these rows with the column of treatment ``j`` removed: (d, m)."""

        def encode(piece: slice) -> Tensor:
            removed = self._first[:, j]  # (d1,)
            if self._shared is not None:
                shared = self._on[:, rows[piece]] * self._shared[:, j : j + 1]
                removed = (self._first @ shared).T  # (m, d1)
            before = self._before.index_select(0, rows[piece]) - removed
            return self._encode(before.sigmoid_())

        pieces = [made for _, made in _piecewise(encode, len(rows), CHUNK[rows.device.type])]
        return pieces[0] if len(pieces) == 1 else torch.cat([self._phi[:, :0], *pieces], 1)

    def _encode(self, hidden: Tensor) -> Tensor:
        """The rest of the encoder after the first layer: (m, d1) -> (d, m)."""
        hidden = hidden.T
        for weight, bias in self._rest:
            hidden = (weight @ hidden).add_(bias[:, None]).sigmoid_()
        return hidden.contiguous()


class _Compared(NamedTuple):
    """Weights (p,) and weighted means (p, d) of the two sides of every treatment."""

    on: Tensor
    off: Tensor
    treated: Tensor
    control: Tensor
    gaps: Tensor  # (p, d) difference of the means, scaled
    slopes: Tensor  # (p, d) of the loss in the treated means


# (some of the rows that a treatment touches: m of them, (d, m) their embeddings without it)
_Slice = tuple[Tensor, Tensor]


def _consecutive(numbers: list[int], most: int) -> Iterator[slice]:
    """Cut a list into runs with sums of at most ``most``; a single number may exceed it."""
    start, total = 0, 0
    for stop, number in enumerate(numbers):
        if stop > start and total + number > most:
            yield slice(start, stop)
            start, total = stop, 0
        total += number
    if numbers:
        yield slice(start, len(numbers))
