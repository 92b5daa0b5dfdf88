# shellcheck shell=bash disable=SC2317
# Commands that make objects from words. kubectl and every Go client send these as protobuf.

imperative() {
    has "namespace/$NS-made created" kc create ns "$NS-made"
    kc label ns "$NS-made" "landbridge.test/run=$RUN" >/dev/null
    has "configmap/words created" k create cm words --from-literal=a=1
    same 1 k get cm words -o 'jsonpath={.data.a}'
    has "secret/words created" k create secret generic words --from-literal=p=secret
    same c2VjcmV0 k get secret words -o 'jsonpath={.data.p}'
    has "serviceaccount/words created" k create sa words
    has "service/words created" k create svc clusterip words --tcp=80:8080
    same "80 8080" k get svc words -o 'jsonpath={.spec.ports[0].port} {.spec.ports[0].targetPort}'
    has "role.rbac.authorization.k8s.io/words created" k create role words --verb=get,list --resource=pods
    same '["get","list"]' k get role words -o 'jsonpath={.rules[0].verbs}'
    has "rolebinding.rbac.authorization.k8s.io/words created" \
        k create rolebinding words --role=words --serviceaccount="$NS:words"
    fails 'configmaps "words" already exists' k create cm words
}
t "create ns|cm|secret|sa|svc|role|rolebinding" imperative

workloads() {
    has "deployment.apps/words created" k create deployment words --image=example.invalid/main:1 --replicas=0
    has "deployment.apps/words scaled" k scale deploy words --replicas=2
    same 2 k get deploy words -o 'jsonpath={.spec.replicas}'
    has "service/exposed exposed" k expose deploy words --port=99 --name=exposed
    same '{"app":"words"}' k get svc exposed -o 'jsonpath={.spec.selector}'
    has "deployment.apps/words image updated" k set image deploy/words main=example.invalid/main:2
    same example.invalid/main:2 k get deploy words -o 'jsonpath={.spec.template.spec.containers[0].image}'
    has "job.batch/words created" k create job words --image=example.invalid/main:1
    has "pod/words created" k run words --image=example.invalid/main:1 --restart=Never
}
t "create deployment|job, scale, expose, set image, run" workloads
