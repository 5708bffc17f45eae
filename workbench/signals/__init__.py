"""What a running job says: one frozen union of events, exactly one terminal event a job; and the request to stop."""

from workbench.signals.cancel import NEVER as NEVER
from workbench.signals.cancel import WHOLE as WHOLE
from workbench.signals.cancel import CancelToken as CancelToken
from workbench.signals.events import AtStake as AtStake
from workbench.signals.events import Budget as Budget
from workbench.signals.events import Cancelled as Cancelled
from workbench.signals.events import Emit as Emit
from workbench.signals.events import Event as Event
from workbench.signals.events import Failed as Failed
from workbench.signals.events import Finished as Finished
from workbench.signals.events import Memory as Memory
from workbench.signals.events import Metric as Metric
from workbench.signals.events import Notice as Notice
from workbench.signals.events import Progress as Progress
from workbench.signals.events import Spread as Spread
from workbench.signals.events import Terminal as Terminal
from workbench.signals.events import ignore as ignore
