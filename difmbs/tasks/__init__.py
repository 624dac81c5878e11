"""Fits and designs as files describe them, and the folders that their results go to."""

from ._design import DesignFile as DesignFile
from ._design import load_design as load_design
from ._fit import FitFile as FitFile
from ._fit import load_fit as load_fit
from ._folder import MANIFEST as MANIFEST
from ._folder import PARAMETERS as PARAMETERS
from ._folder import Folder as Folder
from ._folder import stored as stored
from ._kinds import kind_of as kind_of
