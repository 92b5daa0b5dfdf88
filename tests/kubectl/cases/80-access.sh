# shellcheck shell=bash disable=SC2317
# Who is who and who may do what: roles, tokens, impersonation.

# kubectl with nothing but a token: no certificate, no kubeconfig.
with_token() {
    local token=$1 server
    shift
    server=$(kc config view --minify -o 'jsonpath={.clusters[0].cluster.server}')
    kc config view --raw --minify -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' |
        base64 -d >"$WORK/ca.crt"
    timeout "$LIMIT" "$KUBECTL" --kubeconfig /dev/null --cache-dir "$WORK/token-cache" -n "$NS" \
        --server "$server" --certificate-authority "$WORK/ca.crt" --token "$token" "$@"
}

whoami_admin() {
    has "system:authenticated" k auth whoami
    has "Username eve" k auth whoami --as eve
    has "dev" k auth whoami --as eve --as-group dev
}
t "auth whoami, also as somebody else" whoami_admin

can_i() {
    same yes k auth can-i create pods
    fails no k auth can-i list pods --as eve
    same yes k auth can-i get /version --as eve
    fails no k auth can-i get /metrics --as eve
    fails "re:configmaps is forbidden: User \"eve\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"$NS\"" \
        k get cm --as eve
    fails "re:nodes is forbidden: User \"eve\" cannot list resource \"nodes\" in API group \"\" at the cluster scope" \
        k get nodes --as eve
    has "selfsubjectaccessreviews.authorization.k8s.io" k auth can-i --list --as eve
}
t "auth can-i: yes, no, --list; refusals name user, verb and place" can_i

role_for_account() {
    k create sa robot
    k create cm seen --from-literal a=b
    k create role reader --verb=get,list --resource=configmaps
    k create rolebinding robot-reads --role=reader --serviceaccount="$NS:robot"
    local token
    token=$(k create token robot --duration 20m)
    has "Username system:serviceaccount:$NS:robot" with_token "$token" auth whoami
    has "seen" with_token "$token" get cm
    fails "re:secrets is forbidden" with_token "$token" get secrets
    fails "re:cannot list resource \"configmaps\" .* in the namespace \"default\"" with_token "$token" -n default get cm
    fails "re:cannot delete resource" with_token "$token" delete cm seen
    same yes with_token "$token" auth can-i list cm
    has "re:^configmaps \[\] \[\] \[get list\]" with_token "$token" auth can-i --list
    k delete rolebinding robot-reads
    eventually 10 fails "re:configmaps is forbidden" with_token "$token" get cm
    k delete sa robot
    eventually 30 fails "re:must be logged in|Unauthorized" with_token "$token" get cm
}
t "a role for a service account, used by its token, until either is gone" role_for_account

usual_roles() {
    k create rolebinding ed --clusterrole=edit --user=ed
    same yes k auth can-i create deployments.apps --as ed
    fails no k auth can-i create roles.rbac.authorization.k8s.io --as ed
    fails no k auth can-i create deployments.apps --as ed -n default
    k create rolebinding ann --clusterrole=admin --user=ann
    k create role small --verb=get --resource=pods --as ann
    fails "attempting to grant RBAC permissions not currently held" \
        k create role large --verb=get --resource=nodes --as ann
    fails "not currently held" k create rolebinding boss --clusterrole=cluster-admin --user=ann --as ann
    has "re:configmaps \[\] \[\] \[.*get" kc describe clusterrole view
}
t "edit and admin; nobody grants what he does not have" usual_roles

review_file() {
    file review.yaml <<YAML
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec:
  user: nobody
  resourceAttributes: {verb: get, resource: pods, namespace: $NS}
YAML
    same false k create -f "$WORK/review.yaml" -o 'jsonpath={.status.allowed}'
    fails "re:unknown field" k create -f <(sed 's/user:/usr:/' "$WORK/review.yaml")
}
t "a review from a file" review_file
