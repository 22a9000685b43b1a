"""Who works on the simulated cluster: departments, groups, users, coordinators and quality of service."""

from __future__ import annotations

from dataclasses import dataclass

from data.model import Association

FIRST_UID = 6001
_TREE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("informatics", ("nlp", "vision", "speech", "robotics")),
    ("physics", ("lattice", "astro", "plasma")),
    ("chemistry", ("catalysis", "materials")),
    ("biology", ("genomics", "proteins", "imaging")),
    ("engineering", ("fluids", "climate")),
)
_NAMES = (
    "hnguyen psingh jokafor lrossi akowalski bschmidt cmartin dkim eivanova fgarcia gyilmaz hsato ipetrov jlee "
    "kmueller lchen mandersson nhaddad obrien pdasilva qwang rjohnson snovak tsilva uhansen vkumar wzhang xliu "
    "ysuzuki zali abauer bcosta cdubois dfischer egupta fhuang gito hjansen ikhan jlarsen kmoreau lnielsen molsen "
    "npark qrahman rsingh storres uweber vxu wyang agonzalez bhoffman cjimenez dkaya elopez fmeyer gnakamura "
    "hortiz"
)
_STAFF = (("mtanaka", "Administrator"), ("opark", "Operator"))


@dataclass(frozen=True, slots=True)
class User:
    name: str
    uid: int
    account: str
    department: str


@dataclass(frozen=True, slots=True)
class Organization:
    """`users` do the work; `associations` is Slurm's whole tree, staff and coordinators in it."""

    users: tuple[User, ...]
    accounts: tuple[str, ...]
    associations: tuple[Association, ...]


def build_organization(cluster: str) -> Organization:
    """60 people: 58 users spread over 14 groups of 5 departments, and two of the staff."""
    groups = [(department, group) for department, members in _TREE for group in members]
    users = tuple(
        User(name, FIRST_UID + i, groups[i % len(groups)][1], groups[i % len(groups)][0])
        for i, name in enumerate(_NAMES.split())
    )
    return Organization(users, tuple(group for _, group in groups), tuple(_associations(cluster, users)))


def _associations(cluster: str, users: tuple[User, ...]) -> list[Association]:
    """The first user of each group coordinates it; the second one of a department's first group all of it."""
    rows = [
        Association(cluster, "root", None, None),
        Association(cluster, "root", None, "root", False, "Administrator"),
    ]
    for department, groups in _TREE:
        rows.append(Association(cluster, department, "root", None))
        first = [user for user in users if user.account == groups[0]]
        rows.append(Association(cluster, department, "root", first[1].name, is_coordinator=True))
        for group in groups:
            rows.append(Association(cluster, group, department, None))
            members = [user for user in users if user.account == group]
            rows += [
                Association(cluster, group, department, user.name, is_coordinator=user is members[0])
                for user in members
            ]
    rows.append(Association(cluster, "staff", "root", None))
    rows += [Association(cluster, "staff", "root", name, False, level) for name, level in _STAFF]
    return rows
