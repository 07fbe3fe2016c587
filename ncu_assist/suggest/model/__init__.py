"""Ask a language model at any endpoint that speaks OpenAI's protocol, or read a reply that was saved from one."""

from ncu_assist.suggest.model.asking import FailedCall as FailedCall
from ncu_assist.suggest.model.asking import ask as ask
from ncu_assist.suggest.model.asking import expected_rung as expected_rung
from ncu_assist.suggest.model.records import RUNGS as RUNGS
from ncu_assist.suggest.model.records import Answer as Answer
from ncu_assist.suggest.model.records import Endpoint as Endpoint
from ncu_assist.suggest.model.records import Limits as Limits
from ncu_assist.suggest.model.records import Message as Message
from ncu_assist.suggest.model.records import Messages as Messages
from ncu_assist.suggest.model.records import Rung as Rung
from ncu_assist.suggest.model.saved import saved_reply as saved_reply
