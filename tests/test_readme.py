"""The errors that the README's example prints, computed by hand."""

import math

import pytest
from sklearn.linear_model import LogisticRegression

from stablepred import DGBRClassifier, average_error, environment_errors, stability_error
from stablepred.data import SyntheticWorld


def test_errors_of_the_readme_example_equal_hand_computed_ones():
    world = SyntheticWorld("s_indep_v", bias_on="outcome")
    train = world.sample(2000, bias_rate=0.75, random_state=1000)
    tests = [world.sample(2000, bias_rate=r, random_state=1001) for r in (0.1, 0.5, 0.9)]
    for model in (LogisticRegression(), DGBRClassifier(random_state=0)):
        model.fit(train.X, train.y)
        by_hand = []
        for test in tests:
            squares = 0.0
            for outcome, probability in zip(test.y, model.predict_proba(test.X)[:, 1], strict=True):
                squares += (float(outcome) - float(probability)) ** 2
            by_hand.append(math.sqrt(squares / len(test.y)))
        mean = sum(by_hand) / 3
        spread = math.sqrt(sum((error - mean) ** 2 for error in by_hand) / 2)
        errors = environment_errors(model, tests)
        assert errors.tolist() == pytest.approx(by_hand, rel=1e-10)
        assert average_error(errors) == pytest.approx(mean, rel=1e-10)
        assert stability_error(errors) == pytest.approx(spread, rel=1e-10)
