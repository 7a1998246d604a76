"""Global balancing of an embedding (paper, eq. 17).

    L_Bal(v) = sum_j || Cov_v(phi(X_{-j}), x_j) / Var_v(x_j) ||^2

as in ``raw.py``, with phi an encoder. Rows with x_ij = 0 are their own X_{-j} and need no second
encoding. For a number nearly every row needs one, which is done a few treatments at a time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.checkpoint import checkpoint

from stablepred.core.networks import AutoEncoder, Layer, encode_from
from stablepred.core.objective import ValueAndGradient
from stablepred.core.resources import room_to_keep
from stablepred.core.sharding import LOCAL, Local
from stablepred.sample import Sample
from stablepred.weights.raw import vary

# Rows x treatments that are encoded at once: few enough for a processor's cache, enough to keep a
# GPU busy.
CHUNK = {"cpu": 1 << 13, "cuda": 1 << 21}
# Entries of a fixed encoder's embeddings that are computed at once where not all can be kept.
TOGETHER = {"cpu": 1 << 22, "cuda": 1 << 26}
# Rows x treatments that are compared in one operation; 0: one treatment after the other, which a
# processor's cache prefers. On a GPU many small operations would only wait for each other.
COMPARED = {"cpu": 0, "cuda": 1 << 25}

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
        assert network is not None
        scale = None
        if self.standardize:
            scale = embedding_scale(sample, network.encode(sample.x))
        return FixedEncoder(network.encoder, sample.x, scale, sample.shared, sample.shards)

    def of_network(self, sample: Sample, w: Tensor, network: AutoEncoder) -> Tensor:
        x, shared, phi = sample.x, sample.shared, network.encode(sample.x)
        scale = embedding_scale(sample, phi) if self.standardize else None
        removed = removed_embeddings(network.encoder, x, shared)
        of_treatments = (x, sample.mass * w, phi, removed, scale, shared, sample.shards)
        return embedded_imbalance(*of_treatments).square().sum()


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

    With column j zeroed, the pre-activation of the first layer is that of the full row minus x_ij
    times column j of A^(1). (Columns that share a variable with j are zeroed with it.)
    """
    first, bias = layers[0]
    before = x @ first.T + bias  # (n, d1)
    flat = [tensor for layer in layers for tensor in layer]

    treatments, rows = _touched(x, shared).T.nonzero(as_tuple=True)

    def encode(part: slice, before: Tensor, *flat: Tensor) -> Tensor:
        if shared is None:
            values = x[rows[part], treatments[part], None]
            removed = values * flat[0].T[treatments[part]]  # (m, d1)
        else:
            removed = (x[rows[part]] * shared[treatments[part]]) @ flat[0].T
        later = list(zip(flat[2::2], flat[3::2], strict=True))
        return encode_from(before[rows[part]] - removed, later)

    recorded = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in flat)
    run = partial(checkpoint, encode, use_reentrant=False) if recorded else encode
    for part in _cut(len(rows), chunk or CHUNK[x.device.type]):
        yield rows[part], treatments[part], run(part, before, *flat)


def _cut(length: int, chunk: int) -> list[slice]:
    return [slice(start, start + chunk) for start in range(0, length, chunk)]


def _touched(x: Tensor, shared: Tensor | None) -> Tensor:
    """Which rows change when treatment j is removed: (n, p), 0/1."""
    changed = (x != 0).to(x.dtype)
    return changed if shared is None else ((changed @ shared.to(x.dtype)) > 0).to(x.dtype)


def embedded_imbalance(
    x: Tensor,
    v: Tensor,
    phi: Tensor,
    removed: Iterable[RemovedChunk],
    scale: Tensor | None = None,
    shared: Tensor | None = None,
    shards: Local = LOCAL,
) -> Tensor:
    """Weighted slope of phi_k(X_{-j}) on x_j, for all (j, k): (p, d).

    ``phi`` (n, d) embeds the full rows, ``removed`` comes from :func:`removed_embeddings`.
    ``scale`` (d,) divides each coordinate; with the embedding's own standard deviation the result
    does not change when the embedding shrinks.
    """
    mean, squares, varies = _moments(x.T, v, shards)
    centred = (x - mean) * v[:, None]
    covariance = ((1 - _touched(x, shared)) * centred).T @ phi  # (p, d)
    for rows, treatments, embedded in removed:
        weighted = centred[rows, treatments, None] * embedded
        covariance = _add(covariance, treatments, weighted)
    gaps = shards.total(covariance) / squares[:, None] * varies[:, None]
    return gaps if scale is None else gaps / scale


def _moments(columns: Tensor, v: Tensor, shards: Local) -> tuple[Tensor, Tensor, Tensor]:
    """Weighted means of the columns (p, n), their sums of squares, and which of them vary."""
    first, second, weight = shards.totals(columns @ v, columns.square() @ v, v.sum())
    return first / weight, *vary(second - first.square() / weight, weight)


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
        self._x = x.T.contiguous()  # (p, n)
        self._binary = bool((x.square() == x).all())
        self._simple = self._binary and shared is None  # each row that is touched has x_ij = 1
        self._untouched = 1 - _touched(x, shared).T
        self._before = x @ self._first.T + bias  # (n, d1)
        self._phi = self._encode(self._before.sigmoid())  # (d, n)
        sizes = len(x) - self._untouched.sum(1)
        self._sizes = [int(size) for size in sizes.tolist()]  # rows that a treatment touches
        if COMPARED[x.device.type]:  # each is as long as the longest of its block
            for block in self._blocks(len(sizes)):
                sizes[block] = sizes[block].max()
        # Processes that share the rows send one message per part, so all must cut in the same way.
        numbers = [int(size) * len(self._phi) for size in shards.largest(sizes).tolist()]
        room = room_to_keep(x.device) if keep_at_most is None else keep_at_most
        too_many = shards.largest(float(sum(numbers) > room))
        self._kept = None if too_many else self._make(slice(0, len(sizes)))
        most = TOGETHER[x.device.type] if too_many else sum(numbers)
        self._parts = list(_consecutive(numbers, most))

    def __call__(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """L_Bal and its gradient in ``v``.

        With the slopes S_j = C_j / D_j of a covariance and a sum of squares, the scale s,
        H_j = 2 S_j / s^2, and m_j and f_j the weighted means of x_j and phi(X_{-j}), the chain rule
        gives

            dL/dv_i = sum_j (x_ij - m_j) / D_j * H_j'(phi(X_{-j})_i - f_j - (x_ij - m_j) S_j)
        """
        moments = _moments(self._x, v, self._shards)
        sums = self._untouched @ (v * self._phi).T  # (p, d)
        gradient, compared = torch.zeros_like(v), []
        for part in self._parts:
            slices = self._make(part) if self._kept is None else self._kept
            compared.append(self._compare(slices, v, sums[part], [m[part] for m in moments], part))
            mean, _, _, steps = compared[-1]
            for own, rows, embedded in slices:  # those with a column removed
                values = 1 if self._simple else self._values(part, own, rows)
                if rows.ndim == 1:
                    moves = (steps[own] @ embedded).mul_(values - mean[own])
                    gradient.index_add_(0, rows, moves)
                    continue
                moves = (steps[own, None] @ embedded)[:, 0].mul_(values - mean[own, None])
                # In a cell at most one is not zero, so that the order of adding does not matter.
                gradient += v.new_zeros(len(rows), len(v)).scatter_add_(1, rows, moves).sum(0)
        mean, slopes, centre, steps = (torch.cat(parts) for parts in zip(*compared, strict=True))
        constant = (steps * centre).sum(1)  # (p,)
        curvature = (steps * slopes).sum(1)
        gradient -= (constant - 2 * curvature * mean) @ self._x
        gradient -= curvature @ (self._x if self._binary else self._x.square())
        gradient += (constant - curvature * mean) @ mean
        untouched = (mean[:, None] * steps).T @ self._untouched  # (d, n)
        gradient -= untouched.mul_(self._phi).sum(0)
        return (slopes / self._scale).square().sum(), gradient

    def _compare(
        self, slices: "list[_Slice]", v: Tensor, sums: Tensor, moments: list[Tensor], part: slice
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """For each of some treatments the mean, slopes, means of phi and steps dL / dC_j."""
        moved, with_x = [], []
        for own, rows, embedded in slices:
            weights = v.index_select(0, rows.flatten()).view(rows.shape)
            moved.append(_products(embedded, weights))
            if not self._simple:
                with_x.append(_products(embedded, weights * self._values(part, own, rows)))
        touched = torch.cat(moved).view(sums.shape)
        products = touched if self._simple else torch.cat(with_x).view(sums.shape)
        sums, products, weight = self._shards.totals(sums + touched, products, v.sum())
        mean, squares, varies = moments
        slopes = (products - mean[:, None] * sums) / squares[:, None] * varies[:, None]
        steps = 2 * slopes / self._scale.square() / squares[:, None]
        return mean, slopes, sums / weight, steps

    def _make(self, part: slice) -> "list[_Slice]":
        _, rows = (self._untouched[part] == 0).nonzero(as_tuple=True)
        own = rows.split(self._sizes[part])
        if not COMPARED[rows.device.type]:
            return [(k, rows, self._without(part.start + k, rows)) for k, rows in enumerate(own)]
        made: list[_Slice] = []
        for block in self._blocks(len(own)):
            # The shorter ones are filled up with a row whose embedding of zeros adds nothing.
            together = pad_sequence(list(own[block]), batch_first=True)
            embedded = self._phi.new_zeros(len(together), len(self._phi), together.shape[1])
            for k, rows in enumerate(own[block]):
                embedded[k, :, : len(rows)] = self._without(part.start + block.start + k, rows)
            made.append((block, together, embedded))
        return made

    def _blocks(self, treatments: int) -> Iterator[slice]:
        return _consecutive([len(self._before)] * treatments, COMPARED[self._x.device.type])

    def _values(self, part: slice, own: int | slice, rows: Tensor) -> Tensor:
        """x_j of the rows that some treatments of a part touch."""
        columns = self._x[part][own]
        return columns[rows] if rows.ndim == 1 else columns.gather(1, rows)

    def _without(self, j: int, rows: Tensor) -> Tensor:
        """Embeddings of these rows with the column of treatment ``j`` removed: (d, m)."""
        pieces = []
        for part in _cut(len(rows), CHUNK[rows.device.type]):
            removed = self._first[:, j]  # (d1,)
            if self._shared is not None:
                shared = self._x[:, rows[part]] * self._shared[:, j : j + 1]
                removed = (self._first @ shared).T  # (m, d1)
            elif not self._simple:
                removed = self._x[j, rows[part], None] * removed
            before = self._before.index_select(0, rows[part]) - removed
            pieces.append(self._encode(before.sigmoid_()))
        return pieces[0] if len(pieces) == 1 else torch.cat([self._phi[:, :0], *pieces], 1)

    def _encode(self, hidden: Tensor) -> Tensor:
        """The rest of the encoder after the first layer: (m, d1) -> (d, m)."""
        hidden = hidden.T
        for weight, bias in self._rest:
            hidden = (weight @ hidden).add_(bias[:, None]).sigmoid_()
        return hidden.contiguous()


# (a treatment of a part, the m rows that it touches, (d, m) their embeddings without it);
# or a block of k treatments, (k, m) rows, (k, d, m) embeddings
_Slice = tuple[int | slice, Tensor, Tensor]


def _products(embedded: Tensor, weights: Tensor) -> Tensor:
    """Sums over the rows of a treatment (d, m) @ (m,), or of each of a block."""
    if weights.ndim == 1:
        return embedded @ weights
    return (embedded @ weights[:, :, None])[:, :, 0]


def _consecutive(numbers: list[int], most: int) -> Iterator[slice]:
    """Cut a list into runs with sums of at most ``most``; a single number may exceed it."""
    start, total = 0, 0
    for stop, number in enumerate([*numbers, most]):
        if stop > start and (total + number > most or stop == len(numbers)):
            yield slice(start, stop)
            start, total = stop, 0
        total += number
