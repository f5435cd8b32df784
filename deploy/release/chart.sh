#!/bin/sh
# Checks the chart with helm and, where it is there, kubeconform: for each set of
# values, the chart renders and the objects are valid; what cannot work is refused.
# HELM and KUBECONFORM name the programs, else Go compiles them.
set -eu

helm=${HELM:-go run helm.sh/helm/v3/cmd/helm@v3.19.0}
kubeconform=${KUBECONFORM:-}
chart=$(dirname "$0")/../chart
secrets="--set secrets.token=0123456789abcdef --set secrets.personKey=fedcba9876543210"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "chart: $*" >&2
	exit 1
}

renders() { # NAME WANT VALUES...
	name=$1 want=$2
	shift 2
	$helm template desk "$chart" $secrets "$@" >"$work/out.yaml" || fail "$name does not render"
	grep -q -- "$want" "$work/out.yaml" || fail "$name has no $want"
	if [ -n "$kubeconform" ]; then $kubeconform -strict -summary "$work/out.yaml" || fail "$name is not valid"; fi
	echo "ok   $name"
}

refused() { # NAME WANT VALUES...
	name=$1 want=$2
	shift 2
	if $helm template desk "$chart" "$@" >/dev/null 2>"$work/said"; then fail "$name renders"; fi
	grep -q -- "$want" "$work/said" || fail "$name is refused with: $(cat "$work/said")"
	echo "ok   $name is refused"
}

$helm lint --strict "$chart" $secrets || fail "helm lint"
renders "one replica" 'value: "ask"'
renders "docs" 'claimName: docs' --set docs.persistentVolumeClaim.claimName=docs
renders "three replicas" 'DESKHAND_STORE' --set replicas=3 --set postgres.url=postgres://u:p@db/deskhand
renders "a store's secret" 'name: db, key: dsn' --set postgres.existingSecret=db --set postgres.key=dsn
renders "an ingress" 'https://desk.example.com' --set ingress.enabled=true --set ingress.host=desk.example.com --set ingress.tlsSecret=tls
refused "three replicas without a store" 'more than one replica needs a shared store' --set replicas=3 --set secrets.existing=s
refused "no token" 'set secrets.token'
[ -n "$kubeconform" ] || echo "chart: NOT TESTED: the objects' schemas: set KUBECONFORM to the program" >&2
