#!/bin/sh
# Checks the chart with helm and kubeconform: for each set of values, the chart renders
# and the objects are valid, and so is an executor's Job; what cannot work is refused. HELM and KUBECONFORM name the
# programs, else Go compiles them. The schemas are those of the Kubernetes release below,
# from Go's proxy.
set -eu

helm=${HELM:-go run helm.sh/helm/v3/cmd/helm@v3.19.0}
kubeconform=${KUBECONFORM:-go run github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0}
kubernetes=k8s.io/kubernetes@v1.34.1
here=$(cd "$(dirname "$0")" && pwd)
chart=$here/../chart
secrets="--set secrets.token=0123456789abcdef --set secrets.personKey=fedcba9876543210"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "chart: $*" >&2
	exit 1
}

source=$(cd "$here" && go mod download -json "$kubernetes" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
[ -n "$source" ] || fail "NOT RUN: Go did not get $kubernetes"
(cd "$here" && go run ./kubeschema "$source/api/openapi-spec/swagger.json" "$work/schemas") || fail "there are no schemas"
valid() { # FILE
	$kubeconform -strict -summary -schema-location "$work/schemas/{{.ResourceKind}}{{.KindSuffix}}.json" "$1"
}

renders() { # NAME WANT VALUES...
	name=$1 want=$2
	shift 2
	$helm template desk "$chart" $secrets "$@" >"$work/out.yaml" || fail "$name does not render"
	grep -q -- "$want" "$work/out.yaml" || fail "$name has no $want"
	valid "$work/out.yaml" >"$work/said" || fail "$name is not valid: $(cat "$work/said")"
	echo "ok   $name: $(cat "$work/said")"
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

# The Job of an executor of kind kubernetes, as a test of that package writes it.
valid "$here/../../runtime/tasks/box/testdata/job.json" >"$work/said" || fail "an executor's Job is not valid: $(cat "$work/said")"
echo "ok   an executor's Job: $(cat "$work/said")"

# The check itself: an object with an unknown field is refused.
printf 'apiVersion: v1\nkind: Service\nmetadata: { name: desk }\nspec: { prots: [] }\n' >"$work/wrong.yaml"
if valid "$work/wrong.yaml" >"$work/said" 2>&1; then fail "a service with an unknown field is valid"; fi
echo "ok   a service with an unknown field is not valid"
