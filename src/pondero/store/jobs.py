"""Jobs that outlive their process, such as sweeps and batches: one SQLite file each."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from ..errors import BadParameter, StoreError
from .files import data_folder
from .threads.database import Database, Schema

FACTS = "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
"""The table in the file of every job."""


class Jobs(Struct, frozen=True, kw_only=True):
    """All jobs of a kind: its folder, its singular and plural, and the command that lists them."""

    folder: str
    one: str
    many: str
    listed_by: str
    schema: Schema

    def path(self, name: str = "") -> Path:
        """Return the path of a job's file; without a name, the folder."""
        folder = Path(data_folder()) / self.folder
        return folder / f"{name}.db" if name else folder

    def names(self) -> list[str]:
        """Return the names of all jobs, unordered."""
        return [path.stem for path in self.path().glob("*.db")]

    def create(self, name: str) -> Database:
        """Return a new file, which is a job once its facts are written."""
        return Database(self.path(name), self.schema)

    def open(self, name: str) -> tuple[Database, str]:
        """Return a job's file and its facts."""
        path = self.path(name)
        if not path.exists():
            message = f"there is no {self.one} {name!r}; '{self.listed_by}' shows all"
            raise BadParameter(message)
        database = Database(path, self.schema)
        found = database.rows("SELECT value FROM facts WHERE name = 'facts'")
        if not found:
            database.close()
            message = f"{path} holds no {self.one}: its process was killed at the start; delete it"
            raise StoreError(message)
        return database, found[0][0]

    def find(self, text: str, names: Sequence[str]) -> str:
        """Return the name that begins with this text; ``last`` is the first of ``names``."""
        if text == "last" and names:
            return names[0]
        fitting = [name for name in names if name.startswith(text)]
        if text in names or len(fitting) == 1:
            return text if text in names else fitting[0]
        hint = f"'{self.listed_by}' shows all"
        if fitting:
            hint = f"{len(fitting)} {self.many} begin with it"
        message = f"there is no {self.one} {text!r}; {hint}"
        raise BadParameter(message)
