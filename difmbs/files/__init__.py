"""Files: models, tables of measurements, results; read strictly, written safely."""

from ._changes import changed as changed
from ._elements import KINDS as KINDS
from ._fingerprint import fingerprint as fingerprint
from ._models import ModelFile as ModelFile
from ._models import load as load
from ._models import model_text as model_text
from ._models import read_model as read_model
from ._models import save as save
from ._reading import beside as beside
from ._reading import opened as opened
from ._reading import read_text as read_text
from ._results import Result as Result
from ._results import load_result as load_result
from ._results import result_of as result_of
from ._results import save_result as save_result
from ._settings import SimulationSettings as SimulationSettings
from ._tables import Table as Table
from ._tables import read_table as read_table
from ._tables import write_table as write_table
from ._toml import Document as Document
from ._toml import check_keys as check_keys
from ._toml import format_table as format_table
from ._toml import read_document as read_document
from ._writing import output_folder as output_folder
from ._writing import replacing as replacing
