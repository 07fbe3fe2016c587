"""Ask a language model at any endpoint that speaks OpenAI's protocol."""

from ncu_assist.suggest.model.asking import FailedCall as FailedCall
from ncu_assist.suggest.model.asking import ask as ask
from ncu_assist.suggest.model.asking import expected_form as expected_form
from ncu_assist.suggest.model.asking import tokens_beside as tokens_beside
from ncu_assist.suggest.model.endpoint import REPLY_FORMS as REPLY_FORMS
from ncu_assist.suggest.model.endpoint import Endpoint as Endpoint
from ncu_assist.suggest.model.endpoint import Message as Message
from ncu_assist.suggest.model.endpoint import Messages as Messages
from ncu_assist.suggest.model.endpoint import ModelAnswer as ModelAnswer
from ncu_assist.suggest.model.endpoint import ModelLimits as ModelLimits
from ncu_assist.suggest.model.endpoint import ReplyForm as ReplyForm
from ncu_assist.suggest.model.endpoint import ToolBox as ToolBox
from ncu_assist.suggest.model.endpoint import ToolLimits as ToolLimits
