# shellcheck shell=bash disable=SC2317
# Routes: hosts, the ingress of the nodes, and the way there from this machine.

ingress() { "$LANDBRIDGE_BIN" status -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["ingress"])'; }
admitted() { ks get route "$1" -o 'jsonpath={.status.ingress[0].conditions[?(@.type=="Admitted")].status}'; }
DOMAIN=apps.lab.landbridge.test

routes() {
    kc apply -f "$EXAMPLES/services/20-routes.yaml"
    eventually 10 all_admitted
    same "web-services.$DOMAIN" ks get route web -o 'jsonpath={.spec.host}'
    same "web-services.$DOMAIN" ks get route web -o 'jsonpath={.status.ingress[0].host}'
    same "true" ks get route web -o 'jsonpath={.metadata.annotations.openshift\.io/host\.generated}'
    has "re:shop +shop.example.test +True +web" ks get routes
}
all_admitted() { [ "$(admitted web)$(admitted shop)$(admitted safe)" = TrueTrueTrue ]; }
t "ingress: Routes get hosts and are admitted" routes

from_here() {
    local at
    at=$(ingress)
    eventually 10 curl -fsS --max-time 3 -H "Host: shop.example.test" "$at/"
    has "pod services/web-" curl -fsS --max-time 3 -H "Host: shop.example.test" "$at/"
    has "pod services/web-" curl -fsS --max-time 3 --proxy "$at" "http://web-services.$DOMAIN/"
    has "pod services/web-" curl -fsS --max-time 3 -H "Host: shop.example.test.localhost:8080" "$at/"
    # TLS, by a tunnel, with a certificate of the lab's own authority.
    has "pod services/web-" curl -fsS --max-time 3 --proxy "$at" --cacert "$LANDBRIDGE_DIR/pki/ca.crt" "https://safe-services.$DOMAIN/"
    has "location: https://safe-services.$DOMAIN/x" curl -sS --max-time 3 -o /dev/null -D - -H "Host: safe-services.$DOMAIN" "$at/x"
    has "no Route is served for nothere.test/" curl -sS --max-time 3 -H "Host: nothere.test" "$at/"
    same 503 curl -sS --max-time 3 -o /dev/null -w '%{http_code}' -H "Host: nothere.test" "$at/"
    same 400 curl -sS --max-time 3 -o /dev/null -w '%{http_code}' -H "Host:" --http1.0 "$at/"
}
t "ingress: from this machine by host name, as a proxy, and with TLS" from_here

from_nodes() {
    has "pod services/web-" on worker-1 curl -fsS --max-time 3 -H "Host: shop.example.test" http://192.168.111.20/
    has "pod services/web-" on worker-1 curl -fsSk --max-time 3 --resolve "safe-services.$DOMAIN:443:192.168.111.20" "https://safe-services.$DOMAIN/"
}
t "ingress: on ports 80 and 443 of every node" from_nodes

tls_to_pods() {
    local at kind
    at=$(ingress)
    for kind in reencrypt passthrough; do
        file "$kind.yaml" <<YAML
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: $kind, namespace: services}
spec: {to: {kind: Service, name: web}, port: {targetPort: http}, tls: {termination: $kind}}
YAML
        kc apply -f "$WORK/$kind.yaml"
    done
    # The ingress shows its own certificate, and asks the pod for one of its Service.
    eventually 10 curl -fsS --max-time 3 -o /dev/null --proxy "$at" --cacert "$LANDBRIDGE_DIR/pki/ca.crt" "https://reencrypt-services.$DOMAIN/"
    has "TLS for web.services.svc" curl -fsS --max-time 3 --proxy "$at" --cacert "$LANDBRIDGE_DIR/pki/ca.crt" "https://reencrypt-services.$DOMAIN/"
    # The pod shows its own, for the host.
    eventually 10 curl -fsS --max-time 3 -o /dev/null --proxy "$at" --cacert "$LANDBRIDGE_DIR/pki/service-ca.crt" "https://passthrough-services.$DOMAIN/"
    has "TLS for passthrough-services.$DOMAIN" curl -fsS --max-time 3 --proxy "$at" --cacert "$LANDBRIDGE_DIR/pki/service-ca.crt" "https://passthrough-services.$DOMAIN/"
    fails "certificate" curl -fsS --max-time 3 --proxy "$at" --cacert "$LANDBRIDGE_DIR/pki/ca.crt" "https://passthrough-services.$DOMAIN/"
    # Without TLS neither is served; and a host without a Route says so also by TLS.
    has "Route services/reencrypt is served with TLS only" curl -sS --max-time 3 -H "Host: reencrypt-services.$DOMAIN" "$at/"
    has "no Route is served for nothere.$DOMAIN/" curl -sS --max-time 3 --proxy "$at" --cacert "$LANDBRIDGE_DIR/pki/ca.crt" "https://nothere.$DOMAIN/"
    # Inside, at the address of the Service: the certificate is for the name that is asked for.
    has "TLS for web.services.svc" on worker-1 curl -fsSk --max-time 3 --resolve "web.services.svc:80:$(cluster_ip web)" https://web.services.svc:80/
    ks delete route reencrypt passthrough
}
t "ingress: TLS goes on to pods (reencrypt) and through to them (passthrough)" tls_to_pods

claimed() {
    file late.yaml <<YAML
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: late, namespace: services}
spec: {host: shop.example.test, to: {kind: Service, name: empty}}
YAML
    kc apply -f "$WORK/late.yaml"
    eventually 10 is_claimed
    has "route shop already exposes shop.example.test and is older" ks get route late -o 'jsonpath={.status.ingress[0].conditions[0].message}'
    has "pod services/web-" curl -fsS --max-time 3 -H "Host: shop.example.test" "$(ingress)/"
    ks delete route shop
    eventually 10 inherited
    # Nobody is behind its Service.
    has "no pod behind Service empty is ready" curl -sS --max-time 3 -H "Host: shop.example.test" "$(ingress)/"
    kc delete namespace services --wait=false
}
is_claimed() { [ "$(ks get route late -o 'jsonpath={.status.ingress[0].conditions[0].reason}')" = HostAlreadyClaimed ]; }
inherited() { [ "$(admitted late)" = True ] && [[ $(curl -sS --max-time 3 -H "Host: shop.example.test" "$(ingress)/") == *"Route services/late"* ]]; }
t "ingress: the older Route has the host, the younger says why not and inherits it" claimed
