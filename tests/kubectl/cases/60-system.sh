# shellcheck shell=bash disable=SC2317
# Built-in kinds with a will of their own, CRDs that are wrong, who may come in.

cluster_ip() {
    k create -f <(printf 'apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec:\n  ports: [{port: 80}]\n' addressed)
    has "re:^[0-9a-f]+[.:]" k get svc addressed -o 'jsonpath={.spec.clusterIP}'
    same "$(k get svc addressed -o 'jsonpath={.spec.clusterIP}')" k get svc addressed -o 'jsonpath={.spec.clusterIPs[0]}'
    same "ClusterIP TCP 80" k get svc addressed -o 'jsonpath={.spec.type} {.spec.ports[0].protocol} {.spec.ports[0].targetPort}'
    fails "re:may not change once set|must match" k patch svc addressed --type merge -p '{"spec":{"clusterIP":"192.0.2.1"}}'
    k create -f <(printf 'apiVersion: v1\nkind: Service\nmetadata: {name: headless}\nspec:\n  clusterIP: None\n  ports: [{port: 80}]\n')
    same None k get svc headless -o 'jsonpath={.spec.clusterIP}'
    has "re:ClusterIP" kc -n default get svc kubernetes
}
t "Service: a cluster IP, kept; headless; the service kubernetes" cluster_ip

secrets() {
    file secret.yaml <<'YAML'
apiVersion: v1
kind: Secret
metadata: {name: hidden}
stringData: {word: swordfish}
YAML
    k apply -f "$WORK/secret.yaml"
    same c3dvcmRmaXNo k get secret hidden -o 'jsonpath={.data.word}'
    same "Opaque " k get secret hidden -o 'jsonpath={.type} {.stringData}'
    has "re:^hidden Opaque 1 " k get secret hidden
    lacks swordfish k describe secret hidden
    has "word: 9 bytes" k describe secret hidden
    fails "re:type: Invalid value.*field is immutable" k patch secret hidden --type merge -p '{"type":"example.com/other"}'
}
t "Secret: stringData, table, describe, immutable type" secrets

immutable_config_map() {
    k create -f <(cm frozen a=1 | sed 's/^data:/immutable: true\ndata:/')
    fails "field is immutable when" k patch cm frozen --type merge -p '{"data":{"a":"2"}}'
    k delete cm frozen
}
t "ConfigMap: immutable" immutable_config_map

leases() {
    file lease.yaml <<'YAML'
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: leader}
spec: {holderIdentity: me, leaseDurationSeconds: 15}
YAML
    k create -f "$WORK/lease.yaml"
    has "re:^leader me " k get lease leader
}
t "Lease" leases

service_account() {
    eventually 20 has "re:^default " k get sa default
    eventually 20 has "kube-root-ca.crt" k get cm kube-root-ca.crt
}
t "a namespace gets its ServiceAccount and the CA" service_account

crd_table() {
    has "re:^widgets.$GROUP 20" kc get crd "widgets.$GROUP"
    same "True True" kc get crd "widgets.$GROUP" -o 'jsonpath={.status.conditions[?(@.type=="NamesAccepted")].status} {.status.conditions[?(@.type=="Established")].status}'
    same "widgets Widget" kc get crd "widgets.$GROUP" -o 'jsonpath={.status.acceptedNames.plural} {.status.acceptedNames.kind}'
}
t "crd: table and status" crd_table

wrong_crds() {
    "$HERE/fixtures/crds.sh" "bad.$GROUP" "$RUN" | awk '/^---/ { n++ } n == 4' | file blob.yaml
    fails "must be spec.names.plural+\".\"+spec.group" kc create -f <(sed "s/name: blobs.bad.$GROUP/name: wrong.bad.$GROUP/" "$WORK/blob.yaml")
    fails "re:schema.*Required value|type: Required value" kc create -f <(sed 's/{type: object, x-kubernetes-preserve-unknown-fields: true}/{}/' "$WORK/blob.yaml")
    fails "must have exactly one version marked as storage version" kc create -f <(sed 's/storage: true/storage: false/' "$WORK/blob.yaml")
}
t "crd: a wrong name, no schema type, no storage version" wrong_crds

server_of() { kc config view --minify -o 'jsonpath={.clusters[0].cluster.server}'; }

# A kubeconfig for the same server with the user lines given on standard input.
kubeconfig_with_user() {
    kc config view --minify --raw --flatten -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$WORK/ca.pem"
    [ -s "$WORK/ca.pem" ] || not_here "the kubeconfig carries no CA of its own"
    cat <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "$(server_of)", certificate-authority: $WORK/ca.pem}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
users:
- name: u
  user:
$(cat)
YAML
}

strangers() {
    local refused='re:Unauthorized|Forbidden|must be logged in|provide credentials'
    kubeconfig_with_user <<<'    token: not-a-token' >"$WORK/token.kubeconfig"
    fails "$refused" kc --kubeconfig "$WORK/token.kubeconfig" get ns
    kubeconfig_with_user <<<'    {username: nobody, password: nothing}' >"$WORK/nobody.kubeconfig"
    fails "$refused" kc --kubeconfig "$WORK/nobody.kubeconfig" get ns
}
t "a wrong token and a password are refused" strangers

strange_certificate() {
    command -v openssl >/dev/null || not_here "openssl is not installed"
    openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /O=system:masters/CN=mallory -keyout "$WORK/mallory.key" -out "$WORK/mallory.pem" 2>/dev/null
    kubeconfig_with_user >"$WORK/mallory.kubeconfig" <<YAML
    client-certificate: $WORK/mallory.pem
    client-key: $WORK/mallory.key
YAML
    fails "re:Unauthorized|must be logged in|provide credentials|certificate|tls" kc --kubeconfig "$WORK/mallory.kubeconfig" get ns
}
t "a certificate of a strange CA is refused" strange_certificate

strange_server() {
    command -v openssl >/dev/null || not_here "openssl is not installed"
    kubeconfig_with_user <<<'    token: any' >"$WORK/real.kubeconfig"
    openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=other-ca -keyout "$WORK/other.key" -out "$WORK/other.pem" 2>/dev/null
    sed "s|$WORK/ca.pem|$WORK/other.pem|" "$WORK/real.kubeconfig" >"$WORK/other.kubeconfig"
    fails "x509" kc --kubeconfig "$WORK/other.kubeconfig" get ns
}
t "a client that trusts another CA does not trust this server" strange_server
