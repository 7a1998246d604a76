"""Global balancing (paper, eqs. 4 and 17).

    L_Bal(v) = sum_j || phi(X_{-j})' (v * x_j) / v'x_j
                        - phi(X_{-j})' (v * (1 - x_j)) / v'(1 - x_j) ||^2

Every column of X is a treatment in turn; X_{-j} is X with column j set to zero; phi is the
identity (raw balancing) or an encoder (embedded balancing); ``v`` are the total row weights, the
paper's W. A treatment that has no weight on one of its two sides has nothing to compare and
contributes zero.

With products of columns among the columns (order 2), a treatment and a covariate may be made of a
common source column. ``shared[j, k]`` says so; such covariates are zeroed together with j, since
no weights could balance them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from stablepred.core.sharding import totals

# Rows x treatments that are encoded at once; bounds the memory of embedded balancing. A GPU needs
# more of them to be busy.
CHUNK = {"cpu": 1 << 16, "cuda": 1 << 21}
SMALLEST_CHUNK = 1 << 10
# Rows whose products are taken at once: what is made of them stays in the processor's cache.
BLOCK = 1 << 15
# Numbers that a fixed encoder's embeddings may take up in memory to be kept.
KEPT_AT_MOST = 1 << 27

# (rows, treatments, embeddings of those rows with that treatment's column removed)
RemovedChunk = tuple[Tensor, Tensor, Tensor]


def _sides(on: Tensor, off: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Denominators of the two sides of every treatment, and whether both are there: each (p,)."""
    # Relative to the total, so that the verdict does not depend on the scale of the weights.
    least = weight * 1e-12
    comparable = (on > least) & (off > least)
    one = torch.ones_like(on)
    return torch.where(comparable, on, one), torch.where(comparable, off, one), comparable


def _side_sums(x: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Weight with x_j = 1 and with x_j = 0 for every treatment, and the total weight."""
    return v @ x, v @ (1 - x), v.sum()


class RawSums(NamedTuple):
    """The sums over rows from which L_Bal on raw features follows."""

    gram: Tensor  # (p, p) x' diag(v) x
    on: Tensor  # (p,) v'x
    off: Tensor  # (p,) v'(1 - x)
    weight: Tensor  # () sum of v

    @classmethod
    def of(cls, x: Tensor, v: Tensor) -> "RawSums":
        """The sums over all rows."""
        return cls(*totals(*_weighted_sums(x, v), v.sum()))

    def plus(self, other: "RawSums", sign: int = 1) -> "RawSums":
        """The sums with those over other rows added (or taken away)."""
        pairs = zip(self, other, strict=True)
        return RawSums(*(mine + sign * theirs for mine, theirs in pairs))


def _allowed(comparable: Tensor, shared: Tensor | None) -> Tensor:
    """Which (treatment, covariate) pairs count: (p, p)."""
    if shared is None:
        shared = torch.eye(len(comparable), dtype=torch.bool, device=comparable.device)
    return comparable[:, None] & ~shared


def imbalance(x: Tensor, v: Tensor, shared: Tensor | None = None) -> Tensor:
    """Weighted mean of feature k with x_j = 1 minus with x_j = 0, for all (j, k): (p, p)."""
    return imbalance_from(RawSums.of(x, v), shared)


def imbalance_from(sums: RawSums, shared: Tensor | None = None) -> Tensor:
    """The imbalance that follows from sums over rows."""
    gram, ones, *others = sums
    on, off, comparable = _sides(ones, *others)
    gaps = gram / on[:, None] - (ones[None, :] - gram) / off[:, None]
    return gaps * _allowed(comparable, shared)


def balance_and_gradient(
    x: Tensor, v: Tensor, shared: Tensor | None = None, elsewhere: RawSums | None = None
) -> tuple[Tensor, Tensor]:
    """L_Bal on raw features and its gradient in ``v``, from one weighted Gram matrix.

    ``elsewhere`` are the sums over rows that are not at hand, if there are any.

    With g = gram, m = v'x, gaps G_jk = g_jk / on_j - (m_k - g_jk) / off_j and L = sum G^2, the
    chain rule gives dL/dv_i = x_i' D x_i + a'x_i + b with

        D_jk = 2 G_jk (1 / on_j + 1 / off_j)
        a_k  = -2 sum_j G_jk / off_j - r_k - s_k,   b = sum_j s_j
        r_j  = 2 sum_k G_jk g_jk / on_j^2,          s_j = 2 sum_k G_jk (m_k - g_jk) / off_j^2
    """
    sums = RawSums.of(x, v)
    gram, ones, *others = sums if elsewhere is None else sums.plus(elsewhere)
    on, off, comparable = _sides(ones, *others)
    rest = ones[None, :] - gram  # (p, p) the same sums over the rows with x_j = 0
    gaps = (gram / on[:, None] - rest / off[:, None]) * _allowed(comparable, shared)
    slope_on = 2 * (gaps * gram).sum(1) / on.square()  # (p,) r
    slope_off = 2 * (gaps * rest).sum(1) / off.square()  # (p,) s
    quadratic = 2 * gaps * (1 / on + 1 / off)[:, None]  # (p, p) D
    linear = -2 * (gaps / off[:, None]).sum(0) - slope_on - slope_off  # (p,) a
    # With 0/1 features x'Dx + a'x is the sum of (xD + a) x.
    parts = [torch.addmm(linear, part, quadratic).mul_(part).sum(1) for part in _blocks(x)]
    return gaps.square().sum(), torch.cat(parts) + slope_off.sum()


def _weighted_sums(x: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x'diag(v)x, v'x and v'(1 - x): (p, p), (p,) and (p,)."""
    gram = x.new_zeros(x.shape[1], x.shape[1])
    on, off = x.new_zeros(x.shape[1]), x.new_zeros(x.shape[1])
    for part, weights in zip(_blocks(x), _blocks(v), strict=True):
        gram.addmm_(part.T, weights[:, None] * part)
        on += weights @ part
        off += weights @ (1 - part)
    return gram, on, off


def _blocks(rows: Tensor) -> Sequence[Tensor]:
    """Rows in pieces; a GPU takes them all at once."""
    return (rows,) if rows.is_cuda else rows.split(BLOCK)


class _RawBalance(torch.autograd.Function):
    """``balance_and_gradient`` as a node of the autograd graph."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, v: Tensor, shared: Tensor | None, elsewhere: RawSums | None
    ) -> Tensor:
        loss, gradient = balance_and_gradient(x, v, shared, elsewhere)
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return None, upstream * gradient, None, None


def raw_balance(
    x: Tensor, v: Tensor, shared: Tensor | None = None, elsewhere: RawSums | None = None
) -> Tensor:
    """L_Bal on raw features, differentiable in ``v``."""
    loss: Tensor = _RawBalance.apply(x, v, shared, elsewhere)
    return loss


def removed_embeddings(
    layers: "list[tuple[Tensor, Tensor]]",
    x: Tensor,
    shared: Tensor | None = None,
    chunk: int | None = None,
) -> Iterator[RemovedChunk]:
    """Embed every row with column j removed, for the rows that this changes, in bounded memory.

    Rows with x_ij = 0 are their own X_{-j} and need no second encoding (with products among the
    columns: rows in which no column that shares a source with j is one). The first layer's input
    to the activation with column j zeroed is the one of the full row minus column j of A^(1).
    """
    chunk = chunk or CHUNK[x.device.type]
    first, bias = layers[0]
    before = x @ first.T + bias  # (n, d1)
    treatments, rows = _touched(x, shared).T.nonzero(as_tuple=True)

    def encode(before: Tensor, rows: Tensor, treatments: Tensor, *flat: Tensor) -> Tensor:
        if shared is None:
            removed = flat[0].T[treatments]  # (m, d1)
        else:
            removed = (x[rows] * shared[treatments]) @ flat[0].T
        return encode_from(before[rows] - removed, list(zip(flat[2::2], flat[3::2], strict=True)))

    flat = [tensor for layer in layers for tensor in layer]
    differentiable = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in flat)
    start = 0
    while start < len(rows):
        part = slice(start, start + chunk)
        arguments = (before, rows[part], treatments[part], *flat)
        try:
            if differentiable:
                embedded = checkpoint(encode, *arguments, use_reentrant=False)
            else:
                embedded = encode(*arguments)
        except torch.cuda.OutOfMemoryError:
            if chunk <= SMALLEST_CHUNK:
                raise
            chunk //= 2
            continue
        yield rows[part], treatments[part], embedded
        start += chunk


def _touched(x: Tensor, shared: Tensor | None) -> Tensor:
    """Which rows change when treatment j is removed: (n, p), 0/1."""
    return x if shared is None else ((x @ shared.to(x.dtype)) > 0).to(x.dtype)


def encode_from(before: Tensor, layers: "list[tuple[Tensor, Tensor]]") -> Tensor:
    """The rest of an encoder after the first layer's linear part: (m, d1) -> (m, d)."""
    hidden = torch.sigmoid(before)
    for weight, bias in layers:
        hidden = torch.sigmoid(hidden @ weight.T + bias)
    return hidden


def embedded_imbalance(
    x: Tensor,
    v: Tensor,
    phi: Tensor,
    removed: Iterable[RemovedChunk],
    scale: Tensor | None = None,
    shared: Tensor | None = None,
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
            treated = treated.index_add(0, treatments, weighted)
        else:
            side = x[rows, treatments][:, None]
            treated = treated.index_add(0, treatments, weighted * side)
            control = control.index_add(0, treatments, weighted * (1 - side))
    treated, control, *sides = totals(treated, control, *_side_sums(x, v))
    on, off, comparable = _sides(*sides)
    gaps = (treated / on[:, None] - control / off[:, None]) * comparable[:, None]
    return gaps if scale is None else gaps / scale


class EmbeddedBalance:
    """L_Bal on the embedding of a fixed encoder, as a function of the row weights alone.

    The embeddings with a column removed are kept where they are small and made anew at each
    evaluation where they are not.
    """

    def __init__(
        self,
        layers: "list[tuple[Tensor, Tensor]]",
        x: Tensor,
        scale: Tensor | None,
        shared: Tensor | None = None,
        keep_at_most: int | None = None,
    ) -> None:
        self.x, self.shared = x, shared
        self.scale = x.new_ones(()) if scale is None else scale
        with torch.no_grad():
            self.untouched = 1 - _touched(x, shared)  # (n, p)
            self.phi = encode_from(x @ layers[0][0].T + layers[0][1], layers[1:])
            self._slices: Callable[[], Iterable[_Slice]] = lambda: _slices(
                removed_embeddings(layers, x, shared)
            )
            touched = x.numel() - int(self.untouched.sum())
            room = _room(x.device) if keep_at_most is None else keep_at_most
            if touched * self.phi.shape[1] <= room:
                self._keep()

    def _keep(self) -> None:
        try:
            kept = list(self._slices())
        except torch.cuda.OutOfMemoryError:
            return
        self._slices = lambda: kept

    def __call__(self, v: Tensor) -> Tensor:
        """L_Bal at the total row weights ``v``, differentiable in them."""
        if not (torch.is_grad_enabled() and v.requires_grad):
            return self._compared(v).gaps.square().sum()
        loss: Tensor = _EmbeddedBalance.apply(self, v)
        return loss

    def value_and_gradient(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """L_Bal and its gradient in ``v``.

        With T_j and C_j the weighted means of phi(X_{-j}) with x_j = 1 and with x_j = 0, s the
        scale and H = 2 (T - C) / s^2, the chain rule gives

            dL/dv_i = sum_j (x_ij / on_j - (1 - x_ij) / off_j) phi(X_{-j})_i' H_j
                      - sum_j x_ij T_j'H_j / on_j + sum_j (1 - x_ij) C_j'H_j / off_j
        """
        on, off, treated, control, gaps = self._compared(v)
        slopes = 2 * gaps / self.scale  # (p, d) H
        slope_on = (slopes * treated).sum(1) / on  # (p,)
        slope_off = (slopes * control).sum(1) / off
        gradient = slope_off.sum() - self.x @ (slope_on + slope_off)
        gradient -= ((self.untouched @ (slopes / off[:, None])) * self.phi).sum(1)
        for j, rows, embedded in self._slices():
            along = slopes[j] @ embedded
            if self.shared is None:
                along /= on[j]
            else:
                side = self.x[rows, j]
                along *= side / on[j] - (1 - side) / off[j]
            gradient.index_add_(0, rows, along)
        return gaps.square().sum(), gradient

    def _compared(self, v: Tensor) -> "_Compared":
        """The two sides of every treatment under the row weights ``v``."""
        treated = self.phi.new_zeros(self.x.shape[1], self.phi.shape[1])
        control = self.untouched.T @ (v[:, None] * self.phi)
        for j, rows, embedded in self._slices():
            weights = v[rows]
            if self.shared is not None:
                side = self.x[rows, j]
                control[j] += embedded @ (weights * (1 - side))
                weights = weights * side
            treated[j] += embedded @ weights
        treated, control, *sides = totals(treated, control, *_side_sums(self.x, v))
        on, off, comparable = _sides(*sides)
        treated, control = treated / on[:, None], control / off[:, None]
        gaps = (treated - control) * comparable[:, None] / self.scale
        return _Compared(on, off, treated, control, gaps)


class _Compared(NamedTuple):
    """Weights (p,) and weighted means (p, d) of the two sides of every treatment."""

    on: Tensor
    off: Tensor
    treated: Tensor
    control: Tensor
    gaps: Tensor  # (p, d) difference of the means, scaled


def _room(device: torch.device) -> int:
    """How many numbers may be kept: half of a GPU's free memory."""
    if device.type != "cuda":
        return KEPT_AT_MOST
    free, _ = torch.cuda.mem_get_info(device)
    return free // 16


# (treatment, some of the m rows that it touches, (d, m) their embeddings without it)
_Slice = tuple[int, Tensor, Tensor]


def _slices(removed: Iterable[RemovedChunk]) -> Iterator[_Slice]:
    """Chunks cut so that each part belongs to one treatment, turned for fast products."""
    for rows, treatments, embedded in removed:
        found, sizes = torch.unique_consecutive(treatments, return_counts=True)
        lengths = sizes.tolist()
        parts = [part.T.contiguous() for part in embedded.split(lengths)]
        yield from zip(found.tolist(), rows.split(lengths), parts, strict=True)


class _EmbeddedBalance(torch.autograd.Function):
    """``EmbeddedBalance.value_and_gradient`` as a node of the autograd graph."""

    @staticmethod
    def forward(ctx: Any, balance: EmbeddedBalance, v: Tensor) -> Tensor:
        loss, gradient = balance.value_and_gradient(v)
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, Tensor]:
        (gradient,) = ctx.saved_tensors
        return None, upstream * gradient
