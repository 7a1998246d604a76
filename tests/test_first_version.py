"""Twelve worlds and four estimators predict what the first version predicted.

``golden/first-version.npz`` was written by that version. Another processor rounds differently, and
an iterative fit makes such differences grow, so that networks are compared with more room.
"""

from pathlib import Path

import numpy as np
import pytest

from stablepred import DGBRClassifier, DLRClassifier, GBRClassifier, GlobalBalancer
from stablepred.data import SyntheticWorld

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning"),
]

GOLDEN = Path(__file__).parent / "golden" / "first-version.npz"
SELECTIONS = [
    ({"bias_on": "outcome"}, 0.75, 10),
    ({"bias_on": "signal"}, 0.75, 10),
    ({"shift": "v_given_s"}, 0.65, 20),
    ({"bias_on": "outcome"}, 0.85, 14),
]
WORLDS = [
    (setting, *selection)
    for setting in ("s_indep_v", "s_to_v", "v_to_s")
    for selection in SELECTIONS
]
TOLERANCE = {GBRClassifier: 1e-4, DLRClassifier: 0.02, DGBRClassifier: 0.02}


@pytest.mark.parametrize("number", range(len(WORLDS)))
def test_predictions_are_those_of_the_first_version(number):
    setting, selection, rate, n_features = WORLDS[number]
    world = SyntheticWorld(setting, n_features, **selection)
    train = world.sample(500, bias_rate=rate, random_state=number)
    test = world.sample(200, bias_rate=0.5, random_state=100 + number)
    with np.load(GOLDEN) as golden:
        for kind, tolerance in TOLERANCE.items():
            model = kind(random_state=number).fit(train.X, train.y)
            before = golden[f"{number}-{kind.__name__}"]
            assert np.abs(model.predict_proba(test.X)[:, 1] - before).mean() < tolerance
            stable = golden[f"{number}-{kind.__name__}-stable"]
            assert (model.stable_features_ == stable).mean() >= 0.9
        before = golden[f"{number}-GlobalBalancer"]
        assert np.abs(GlobalBalancer().fit(train.X).weights_ - before).mean() < 1e-3
