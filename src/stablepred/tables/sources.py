"""What the real data sets are: where they come from, what their files hold, how they are typed.

The tables are public; none is part of the package. A file is checked against what stands here, so
that a study never runs on another table than the one it names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
BANK_FIRST_YEAR = 2008
UCI_LICENCE = "CC BY 4.0"


def _unchanged(frame: pd.DataFrame) -> pd.DataFrame:
    return frame


@dataclass(frozen=True)
class Source:
    """One data set as it is published.

    Attributes
    ----------
    title : str
        What it is, in a line.
    outcome : str
        The column that becomes 0/1; 1 where it has one of the values in ``positive``.
    environments : tuple of str
        Columns of the loaded frame that suggest environments.
    rows : int
        Rows of all files together.
    names : tuple of str
        Columns of the files, in order; ``columns`` is their number.
    numeric, flags : tuples of str
        Columns of numbers, and of "yes" and "no"; all others are categories.
    dropped : tuple of str
        Columns that must not be used, or say nothing.
    files : tuple of str
        Names of the files, without the ``.gz`` that each may have; empty if none is needed.
    sha256 : tuple of str
        Of the uncompressed files.
    separator, header : str, bool
        How the files are written.
    openml_id : int or None
        Number of the data set at OpenML.
    openml_names : tuple of str
        OpenML's names of the same columns, in the same order.
    prepare : callable
        A last step that needs the order of the rows or columns that are dropped.
    """

    title: str
    outcome: str
    positive: tuple[str, ...]
    environments: tuple[str, ...]
    rows: int
    names: tuple[str, ...]
    citation: str
    licence: str = UCI_LICENCE
    numeric: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sha256: tuple[str, ...] = ()
    separator: str = ","
    header: bool = True
    openml_id: int | None = None
    openml_names: tuple[str, ...] = ()
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = _unchanged

    @property
    def columns(self) -> int:
        """Number of columns of the files."""
        return len(self.names)


def with_year(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the year of a call: the rows are in order of date, from May 2008 on."""
    month = frame["month"].astype(str).map(MONTHS.index)
    new_year = month < month.shift(fill_value=0)
    return frame.assign(year=BANK_FIRST_YEAR + new_year.cumsum())


def first_visits(frame: pd.DataFrame) -> pd.DataFrame:
    """The first encounter of every patient; the rows of one patient are not independent."""
    order = frame["encounter_id"].sort_values(kind="stable").index
    first = ~frame.loc[order, "patient_nbr"].duplicated()
    return frame[first.loc[frame.index]].reset_index(drop=True)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_BANK_CITATION = (
    "Moro, S., Cortez, P., Rita, P. (2014). Bank Marketing. UCI Machine Learning Repository. "
    "doi:10.24432/C5K306"
)
_BANK = Source(
    title="Telephone campaign of a Portuguese bank: does the client subscribe a term deposit?",
    outcome="y",
    positive=("yes", "2"),
    environments=("age", "year", "month"),
    rows=45_211,
    names=_words(
        "age job marital education default balance housing loan contact day month duration "
        "campaign pdays previous poutcome y"
    ),
    numeric=_words("age balance day duration campaign pdays previous"),
    flags=("default", "housing", "loan"),
    dropped=("duration",),  # known only after the call
    files=("bank-full.csv",),
    sha256=("d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",),
    separator=";",
    citation=_BANK_CITATION,
    openml_id=1461,
    openml_names=(*(f"V{number}" for number in range(1, 17)), "Class"),
    prepare=with_year,
)
_BANK_ADDITIONAL = Source(
    title="The same campaign with the economy around it",
    outcome="y",
    positive=("yes",),
    environments=("age", "year"),
    rows=41_188,
    names=_words(
        "age job marital education default housing loan contact month day_of_week duration "
        "campaign pdays previous poutcome emp.var.rate cons.price.idx cons.conf.idx euribor3m "
        "nr.employed y"
    ),
    numeric=_words(
        "age duration campaign pdays previous emp.var.rate cons.price.idx cons.conf.idx "
        "euribor3m nr.employed"
    ),
    dropped=("duration",),
    files=("bank-additional-full.csv",),
    sha256=("74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",),
    separator=";",
    citation=_BANK_CITATION,
    prepare=with_year,
)
_ADULT_NAMES = _words(
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country"
)
_ADULT = Source(
    title="US census of 1994: does a person earn more than 50,000 dollars a year?",
    outcome="income",
    positive=(">50K", ">50K."),  # the test file ends its labels with a full stop
    environments=("age", "workclass", "native-country"),
    rows=48_842,
    names=(*_ADULT_NAMES, "income"),
    numeric=_words("age fnlwgt education-num capital-gain capital-loss hours-per-week"),
    dropped=("fnlwgt",),  # a weight of the survey, not an attribute of the person
    files=("adult.data", "adult.test"),
    sha256=(
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
    header=False,
    citation=(
        "Becker, B., Kohavi, R. (1996). Adult. UCI Machine Learning Repository. doi:10.24432/C5XW20"
    ),
    openml_id=1590,
    openml_names=(*_ADULT_NAMES, "class"),
)
_DIABETES_NAMES = _words(
    "encounter_id patient_nbr race gender age weight admission_type_id discharge_disposition_id "
    "admission_source_id time_in_hospital payer_code medical_specialty num_lab_procedures "
    "num_procedures num_medications number_outpatient number_emergency number_inpatient diag_1 "
    "diag_2 diag_3 number_diagnoses max_glu_serum A1Cresult metformin repaglinide nateglinide "
    "chlorpropamide glimepiride acetohexamide glipizide glyburide tolbutamide pioglitazone "
    "rosiglitazone acarbose miglitol troglitazone tolazamide examide citoglipton insulin "
    "glyburide-metformin glipizide-metformin glimepiride-pioglitazone metformin-rosiglitazone "
    "metformin-pioglitazone change diabetesMed readmitted"
)
_DIABETES = Source(
    title="First stays of diabetic patients in 130 US hospitals: readmitted later?",
    outcome="readmitted",
    positive=("<30", ">30"),
    environments=("age", "admission_source_id"),
    rows=101_766,
    names=_DIABETES_NAMES,
    numeric=_words(
        "encounter_id patient_nbr time_in_hospital num_lab_procedures num_procedures "
        "num_medications number_outpatient number_emergency number_inpatient number_diagnoses"
    ),
    flags=("diabetesMed",),
    dropped=("encounter_id", "patient_nbr"),
    files=("diabetic_data.csv",),
    sha256=("0689e7ec031237dc63031b938805c48377748761a3b26acab621567afa24df97",),
    citation=(
        "Strack, B. et al. (2014). Diabetes 130-US hospitals for years 1999-2008. UCI Machine "
        "Learning Repository. doi:10.24432/C5230J"
    ),
    openml_id=4541,
    openml_names=_DIABETES_NAMES,
    prepare=first_visits,
)
_CREDIT_NAMES = _words(
    "LIMIT_BAL SEX EDUCATION MARRIAGE AGE PAY_0 PAY_2 PAY_3 PAY_4 PAY_5 PAY_6 BILL_AMT1 BILL_AMT2 "
    "BILL_AMT3 BILL_AMT4 BILL_AMT5 BILL_AMT6 PAY_AMT1 PAY_AMT2 PAY_AMT3 PAY_AMT4 PAY_AMT5 PAY_AMT6"
)
_CREDIT = Source(
    title="Credit card clients in Taiwan, 2005: default on the next payment?",
    outcome="default payment",
    positive=("1",),
    environments=("AGE", "EDUCATION"),
    rows=30_000,
    names=(*_CREDIT_NAMES, "default payment"),
    numeric=tuple(n for n in _CREDIT_NAMES if n not in ("SEX", "EDUCATION", "MARRIAGE")),
    files=("credit-card-clients.csv",),
    sha256=("7cfc3bb35b6986be40cccb5d490806f082b46f93afafdce27fd7f409eb5abb02",),
    citation=(
        "Yeh, I. C., Lien, C. H. (2009). Default of Credit Card Clients. UCI Machine Learning "
        "Repository. doi:10.24432/C55S3H"
    ),
    openml_id=42477,
    openml_names=(*(f"x{number}" for number in range(1, 24)), "y"),
)
_PARTS = ("mean {}", "{} error", "worst {}")
_SHAPES = (
    *_words("radius texture perimeter area smoothness compactness concavity"),
    *("concave points", "symmetry", "fractal dimension"),
)
_CELLS = tuple(part.format(shape) for part in _PARTS for shape in _SHAPES)
_BREAST_CANCER = Source(
    title="Cell nuclei of breast tumours: malignant? (comes with scikit-learn)",
    outcome="malignant",
    positive=("0",),  # scikit-learn counts benign as 1
    environments=(),
    rows=569,
    names=(*_CELLS, "malignant"),
    numeric=_CELLS,
    citation=(
        "Wolberg, W., Mangasarian, O., Street, N., Street, W. (1993). Breast Cancer Wisconsin "
        "(Diagnostic). UCI Machine Learning Repository. doi:10.24432/C5DW2B"
    ),
)

DATASETS = MappingProxyType(
    {
        "bank": _BANK,
        "bank-additional": _BANK_ADDITIONAL,
        "adult": _ADULT,
        "diabetes": _DIABETES,
        "credit": _CREDIT,
        "breast-cancer": _BREAST_CANCER,
    }
)
