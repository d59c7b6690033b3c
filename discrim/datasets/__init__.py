"""Four small tables to try a classifier on, each with a licence that lets it be passed on.

=============  ====  =======  ===========================================  ============================
name           rows  columns  classes                                      licence
=============  ====  =======  ===========================================  ============================
iris            150        5  species: 3 of 50                             facts, published in 1936
penguins        344        8  species: 152, 68, 124; some values missing   CC0 1.0
wine            178       14  cultivar: 48, 59, 71                         CC BY 4.0
breast_cancer   569       31  diagnosis: 357, 212                          CC BY 4.0
=============  ====  =======  ===========================================  ============================

Each loader reads its table again, so that changes to one copy do not affect another. Classes and other
categories are text, not categoricals: a subset then lacks empty classes, and levels are sorted. The text of
the two licences is at https://creativecommons.org/licenses/by/4.0/ and
https://creativecommons.org/publicdomain/zero/1.0/. The docstring of each loader names the authors of the
table and the changes to it.

Verbs and the command line accept the name of a table instead of the table: ``lda("species ~ .", "iris")``. A
file or folder of that name takes precedence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from discrim.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ABOUT",
    "About",
    "load",
    "load_breast_cancer",
    "load_iris",
    "load_penguins",
    "load_wine",
    "names",
    "text",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__


class About(NamedTuple):
    """Description of a table, which is available without reading it.

    Attributes
    ----------
    rows, columns : int
        Number of rows, and of columns.
    classes : str
        The column that contains the classes, and the number of rows of each class.
    what : str
        Description of the rows and columns.
    """

    rows: int
    columns: int
    classes: str
    what: str


ABOUT = {
    "breast_cancer": About(
        569,
        31,
        "diagnosis: benign 357, malignant 212",
        "breast tumours, Wisconsin: 30 features of cell nuclei in needle aspirates",
    ),
    "iris": About(
        150,
        5,
        "species: setosa 50, versicolor 50, virginica 50",
        "Fisher's irises: length and width of sepals and petals, in cm",
    ),
    "penguins": About(
        344,
        8,
        "species: Adelie 152, Chinstrap 68, Gentoo 124",
        "penguins of the Palmer Archipelago: bills, flippers, mass, sex, island; some values missing",
    ),
    "wine": About(
        178,
        14,
        "cultivar: barbera 48, barolo 59, grignolino 71",
        "wines of Piedmont: thirteen chemical measurements",
    ),
}
"""The tables, by name."""


def names() -> list[str]:
    """Return the names of the tables that come with the package, for :func:`load`.

    Examples
    --------
    >>> names()
    ['breast_cancer', 'iris', 'penguins', 'wine']
    """
    return list(ABOUT)


def load(name: str) -> pd.DataFrame:
    """Load a table that comes with the package, by its name.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    DataFrame
        A new copy, equal to the result of the loader, such as :func:`load_iris` for "iris".

    Raises
    ------
    DataError
        `name` is unknown.

    Examples
    --------
    >>> load("iris").shape
    (150, 5)
    """
    _require_name(name)
    return _read(name)


def text(name: str) -> str:
    """Return the text of the CSV file of a table that comes with the package.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    str

    Raises
    ------
    DataError
        `name` is unknown.

    Examples
    --------
    >>> text("iris").splitlines()[:2]
    ['sepal_length,sepal_width,petal_length,petal_width,species', '5.1,3.5,1.4,0.2,setosa']
    """
    from importlib.resources import files

    return files(__package__).joinpath(f"{_require_name(name)}.csv").read_text(encoding="utf-8")


def _require_name(name: str) -> str:
    """Return the name; raise a DataError if it is unknown."""
    if name not in ABOUT:
        from difflib import get_close_matches

        close_matches = get_close_matches(name, ABOUT, n=1)
        hint = f"Did you mean {close_matches[0]!r}?" if close_matches else f"There are {', '.join(ABOUT)}."
        raise DataError(f"No table named {name!r} comes with discrim.", hint=hint)
    return name


def load_iris() -> pd.DataFrame:
    """Fisher's irises: four measurements of 50 flowers of each of three species.

    Returns
    -------
    DataFrame
        150 rows, 5 columns.

        ==============  =======================================
        sepal_length    cm, float
        sepal_width     cm, float
        petal_length    cm, float
        petal_width     cm, float
        species         setosa, versicolor, virginica; text
        ==============  =======================================

    Notes
    -----
    The numbers are those that Fisher printed. The copy in the UCI repository differs from them in two rows:
    its 35th row has petal_width 0.1 instead of 0.2, and its 38th row has sepal_width 3.1 instead of 3.6 and
    petal_length 1.5 instead of 1.4. Measurements are facts; no copyright is claimed for them.

    References
    ----------
    Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics 7,
    179-188. The flowers were measured by E. Anderson (1935), The irises of the Gaspe Peninsula, Bulletin of
    the American Iris Society 59, 2-5.

    Examples
    --------
    >>> iris = load_iris()
    >>> iris.groupby("species")["petal_length"].mean().round(3).to_dict()
    {'setosa': 1.462, 'versicolor': 4.26, 'virginica': 5.552}
    """
    return _read("iris")


def load_penguins() -> pd.DataFrame:
    """Penguins of the Palmer Archipelago: three species on three islands, with values missing.

    Returns
    -------
    DataFrame
        344 rows, 8 columns; 2 rows lack all measurements and the sex, 9 more lack the sex.

        ==================  =======================================
        species             Adelie, Chinstrap, Gentoo; text
        island              Biscoe, Dream, Torgersen; text
        bill_length_mm      mm, float
        bill_depth_mm       mm, float
        flipper_length_mm   mm, float
        body_mass_g         g, float
        sex                 female, male; text
        year                of the study: 2007, 2008, 2009; int
        ==================  =======================================

    Notes
    -----
    This is the table ``penguins`` of the R package palmerpenguins, whose authors gave it to the public domain
    under CC0 1.0. Nothing is changed, except that a missing value is an empty field.

    References
    ----------
    Horst, A. M., Hill, A. P. and Gorman, K. B. (2020). palmerpenguins: Palmer Archipelago (Antarctica)
    penguin data. doi:10.5281/zenodo.3960218.

    Gorman, K. B., Williams, T. D. and Fraser, W. R. (2014). Ecological sexual dimorphism and environmental
    variability within a community of Antarctic penguins (genus Pygoscelis). PLoS ONE 9(3), e90081.

    Examples
    --------
    >>> penguins = load_penguins()
    >>> len(penguins), len(penguins.dropna())
    (344, 333)
    """
    return _read("penguins")


def load_wine() -> pd.DataFrame:
    """Wines of Piedmont: thirteen chemical measurements of 178 bottles from three cultivars.

    Returns
    -------
    DataFrame
        178 rows, 14 columns. The source states no units; alcohol is a percentage.

        ======================  ===============================================
        alcohol                 %, float
        malic_acid              float
        ash                     float
        ash_alcalinity          float
        magnesium               int
        total_phenols           float
        flavanoids              float
        nonflavanoid_phenols    float
        proanthocyanins         float
        color_intensity         float
        hue                     float
        od280_od315             absorbance ratio of the diluted wine, float
        proline                 int
        cultivar                barbera, barolo, grignolino; text
        ======================  ===============================================

    Notes
    -----
    The table is from the UCI Machine Learning Repository, which gives it under CC BY 4.0, in the copy that
    scikit-learn distributes. Here the columns have names, and the classes 1, 2 and 3 have the names of the
    wines in the paper: Barolo, Grignolino and Barbera.

    References
    ----------
    Aeberhard, S. and Forina, M. (1992). Wine [Dataset]. UCI Machine Learning Repository.
    doi:10.24432/C5PC7J. Licence: https://creativecommons.org/licenses/by/4.0/.

    Forina, M., Armanino, C., Castino, M. and Ubigli, M. (1986). Multivariate data analysis as a
    discriminating method of the origin of wines. Vitis 25, 189-201.

    Examples
    --------
    >>> load_wine()["cultivar"].value_counts().sort_index().to_dict()
    {'barbera': 48, 'barolo': 59, 'grignolino': 71}
    """
    return _read("wine")


def load_breast_cancer() -> pd.DataFrame:
    """Breast tumours, Wisconsin: cell nuclei in 569 needle aspirates, benign and malignant.

    Returns
    -------
    DataFrame
        569 rows, 31 columns. Ten features of the nuclei in a digitized image, each as its mean (``_mean``),
        its standard error (``_se``) and the mean of its three largest values (``_worst``), so
        ``radius_mean`` to ``fractal_dimension_worst``, all float; then ``diagnosis``, benign or malignant,
        text. Lengths are in units of the image, which the source does not state.

        ==================  ==================================================
        radius              mean distance from the centre to the outline
        texture             standard deviation of the grey values
        perimeter           length of the outline
        area                area inside the outline
        smoothness          local variation of the radius
        compactness         perimeter^2 / area - 1
        concavity           severity of the concave parts of the outline
        concave_points      number of concave parts of the outline
        symmetry
        fractal_dimension   "coastline approximation" - 1
        ==================  ==================================================

    Notes
    -----
    The table is from the UCI Machine Learning Repository, which gives it under CC BY 4.0, in the copy that
    scikit-learn distributes. Here the patients' numbers are left out, the columns have names, and the
    diagnosis is written out. Radius, perimeter and area are highly correlated, so covariances are close to
    singular. In rows 38 and 212, counted from 0, all ten worst values equal the means, as in the source.

    References
    ----------
    Wolberg, W., Mangasarian, O., Street, N. and Street, W. (1993). Breast Cancer Wisconsin (Diagnostic)
    [Dataset]. UCI Machine Learning Repository. doi:10.24432/C5DW2B. Licence:
    https://creativecommons.org/licenses/by/4.0/.

    Street, W. N., Wolberg, W. H. and Mangasarian, O. L. (1993). Nuclear feature extraction for breast tumor
    diagnosis. Proceedings of SPIE 1905, 861-870.

    Examples
    --------
    >>> load_breast_cancer()["diagnosis"].value_counts().sort_index().to_dict()
    {'benign': 357, 'malignant': 212}
    """
    return _read("breast_cancer")


def _read(name: str) -> pd.DataFrame:
    """Read the CSV file of a table of the package by its name."""
    from importlib.resources import files

    import pandas as pd

    with files(__package__).joinpath(f"{name}.csv").open(encoding="utf-8") as source:
        return pd.read_csv(source)


if not TYPE_CHECKING:
    # Type checkers report such a name themselves.
    def __getattr__(name):
        from discrim.slips import TABLES, raise_unknown_attribute

        raise_unknown_attribute("discrim.datasets", name, __all__, TABLES)
