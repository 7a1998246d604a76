"""A strict little reader of HTML, and models to write reports about."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from stablepred.evaluation.diagnostics import balance_report
from stablepred.evaluation.predictions import PlainTable

VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = [
    "<script>alert('x')</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "a" * 5000,
    "turned\u202ename\x00",
    "https://example.org/track.png",
]


@dataclass
class Node:
    """An element with its attributes and what is in it."""

    tag: str
    attributes: dict[str, str | None]
    children: list["Node | str"] = field(default_factory=list)

    @property
    def text(self):
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def all(self, tag=None):
        """All elements below, in order."""
        for child in self.children:
            if isinstance(child, Node):
                if tag in (None, child.tag):
                    yield child
                yield from child.all(tag)

    def with_class(self, name):
        return [n for n in self.all() if name in (n.attributes.get("class") or "").split()]

    def by_id(self, key):
        return next((n for n in self.all() if n.attributes.get("id") == key), None)


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.root = Node("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"repeated attribute in {tag}"
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Node(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read(html):
    """The tree of a page; elements must be closed in order."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert [node.tag for node in reader.open] == ["root"]
    return reader.root


def read_file(path):
    return read(path.read_text(encoding="utf-8"))


# --- models -------------------------------------------------------------------------------------


def make_table(name, n, names, seed, shift=0.0):
    """0/1 features, the first two of which make the outcome; the last follows it."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, len(names))) < 0.5).astype(float)
    y = (x[:, 0] + x[:, 1] + rng.normal(0, 0.6, n) > 1).astype(int)
    x[:, -1] = np.where(rng.random(n) < 0.8 - shift, y, 1 - y)
    return PlainTable(name, pd.DataFrame(x, columns=names), y)


class Weighted:
    """A model with everything that a balanced classifier tells about itself."""

    converged_, n_iter_ = False, 12

    def __init__(self, train, spread=0.5):
        self.inner = LogisticRegression().fit(train.X.to_numpy(), train.y)
        x, names = train.X.to_numpy(dtype=float, copy=True), [str(name) for name in train.X.columns]
        n, p = x.shape
        rng = np.random.default_rng(0)
        w = rng.lognormal(0, spread, n)
        self.sample_weight_ = w / w.mean()
        self.balance_report_ = balance_report(x, np.full(n, 1 / n), self.sample_weight_, names, n)
        effect = rng.normal(0, 0.2, p)
        self.stable_features_ = effect > 0
        self.feature_effects_ = pd.DataFrame(
            {
                "feature": names,
                "effect": effect,
                "low": effect - 0.05,
                "high": effect + 0.05,
                "explaining_away": rng.normal(0, 3, p),
                "stable": self.stable_features_,
            }
        )

    def get_params(self, deep=True):
        return {"balance": 1.0, "note": "<b>bold</b>"}

    def predict_proba(self, X):
        return self.inner.predict_proba(np.asarray(X))
