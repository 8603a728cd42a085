"""``bw.Bandit``: a policy in use; a file for each of its ideas."""

from bothworlds.bandit.advised import Advised as Advised
from bothworlds.bandit.bandit import Bandit as Bandit
from bothworlds.bandit.batch import Pulls as Pulls
from bothworlds.bandit.decision_log import DecisionLog as DecisionLog
from bothworlds.bandit.episodes import PolicyOptimization as PolicyOptimization
from bothworlds.bandit.learner import Learner as Learner
from bothworlds.bandit.many import Bandits as Bandits
from bothworlds.bandit.pull import Pull as Pull
