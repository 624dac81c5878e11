"""Linear algebra for sparse systems with blocks and for tall matrices, as JAX functions."""

from .block_sparse import Elimination as Elimination
from .block_sparse import Factors as Factors
from .implicit import first_order_only as first_order_only
from .implicit import implicit as implicit
from .order import Slots as Slots
from .order import eliminate as eliminate
from .order import order_of as order_of
from .rows import row as row
from .rows import with_row as with_row
from .small import jacobian as jacobian
from .small import matrices as matrices
from .tall_qr import tall_qr as tall_qr
