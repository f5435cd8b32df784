# An agent over ACP that asks once, $1 says how, and then does what the file $GO
# says when it is there: complete, fail or crash.
id=0
reply() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
complete() { reply '"result":{"stopReason":"end_turn"}'; }
fail() { reply '"error":{"code":-32603,"message":"out of fuel"}'; }
crash() { kill -9 $$; }
while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case "$line" in
	*'"method":"initialize"'*) reply '"result":{"protocolVersion":1,"agentCapabilities":{}}' ;;
	*'"method":"session/new"'*) reply '"result":{"sessionId":"s1"}' ;;
	*'You asked a person'*) complete ;;
	*'"method":"session/prompt"'*)
		case "$1" in
		permission) printf '{"jsonrpc":"2.0","id":"q1","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c1","title":"launch it","kind":"execute","rawInput":{"command":"launch it"}},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}\n' ;;
		form) printf '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"sessionId":"s1","mode":"form","message":"Which one?","requestedSchema":{"type":"object","properties":{"which":{"type":"string"}},"required":["which"]}}}\n' ;;
		esac
		while [ ! -e "$GO" ]; do sleep 0.05; done
		. "$GO"
		;;
	*'"id":'*'"method"'*) reply '"result":{}' ;;
	esac
done
