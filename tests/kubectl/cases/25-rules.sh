# shellcheck shell=bash disable=SC2317
# CRDs with rules in CEL (x-kubernetes-validations).

rules_crd() { # NAME RULE: a CRD with one rule on its spec
    cat <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ${1}s.$GROUP
  labels: {landbridge.test/run: $RUN}
spec:
  group: $GROUP
  scope: Namespaced
  names: {plural: ${1}s, singular: $1, kind: ${1^}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations: [$2]
            properties:
              min: {type: integer}
              max: {type: integer}
              class:
                type: string
                maxLength: 20
                x-kubernetes-validations:
                - {rule: self == oldSelf, message: class is immutable}
              memory:
                type: string
                maxLength: 20
                x-kubernetes-validations:
                - rule: isQuantity(self) && quantity(self).isLessThan(quantity('2Gi'))
                  messageExpression: "'%s is no quantity below 2Gi'.format([self])"
          status:
            type: object
            x-kubernetes-validations:
            - {rule: self.ready >= 0, message: ready is negative, fieldPath: .ready}
            properties:
              ready: {type: integer}
YAML
}

ranger() { # NAME SPEC
    printf 'apiVersion: %s/v1\nkind: Ranger\nmetadata: {name: %s}\nspec: %s\n' "$GROUP" "$1" "$2"
}

RANGER=rangers.$GROUP

rules_established() {
    rules_crd ranger '{rule: self.max >= self.min, message: max must be at least min}' | file rangers.yaml
    has "rangers.$GROUP created" kc create -f "$WORK/rangers.yaml"
    has "condition met" kc wait --for=condition=Established "crd/$RANGER" --timeout=30s
    same "self.max >= self.min" kc get crd "$RANGER" \
        -o 'jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0].rule}'
}
t "rules: a CRD with CEL rules is established" rules_established

rules_refuse() {
    eventually 20 k get "$RANGER"
    fails "The Ranger \"wrong\" is invalid: spec: Invalid value:" k create -f <(ranger wrong '{min: 5, max: 1}')
    fails "max must be at least min" k create -f <(ranger wrong '{min: 5, max: 1}')
    fails "max must be at least min" k create --dry-run=server -f <(ranger wrong '{min: 5, max: 1}')
    fails "re:no such key: (min|max) evaluating rule: max must be at least min" k create -f <(ranger wrong '{}')
    fails "must be of type integer" k create -f <(ranger wrong '{min: five, max: 1}')
    gone "$RANGER" wrong
    k create -f <(ranger right '{min: 1, max: 5, class: a}')
    fails "max must be at least min" k patch "$RANGER" right --type merge -p '{"spec":{"max":0}}'
    fails "max must be at least min" k apply -f <(ranger right '{min: 1, max: 0, class: a}')
}
t "rules: refused on create, dry run, patch and apply" rules_refuse

rules_message() {
    fails "spec.memory: Invalid value:" k create -f <(ranger wrong '{min: 1, max: 1, memory: 4Gi}')
    fails "4Gi is no quantity below 2Gi" k create -f <(ranger wrong '{min: 1, max: 1, memory: 4Gi}')
    k create -f <(ranger small '{min: 1, max: 1, memory: 512Mi}')
}
t "rules: messageExpression and the quantity library" rules_message

rules_transition() {
    k create -f <(ranger fixed '{min: 1, max: 5, class: a}')
    fails "class is immutable" k patch "$RANGER" fixed --type merge -p '{"spec":{"class":"b"}}'
    k patch "$RANGER" fixed --type merge -p '{"spec":{"max":9}}'
    same "a 9" k get "$RANGER" fixed -o 'jsonpath={.spec.class} {.spec.max}'
}
t "rules: a transition rule keeps a field as it is" rules_transition

rules_status() {
    k create -f <(ranger observed '{min: 1, max: 5}')
    fails "status.ready: Invalid value:" k patch "$RANGER" observed --subresource=status --type merge -p '{"status":{"ready":-1}}'
    k patch "$RANGER" observed --subresource=status --type merge -p '{"status":{"ready":1}}'
}
t "rules: the status has rules, too" rules_status

rules_compile() {
    fails "undefined field 'maxx'" kc create -f <(rules_crd wronger '{rule: self.maxx >= self.min}')
    fails "x-kubernetes-validations[0].rule: Invalid value:" kc create -f <(rules_crd wronger '{rule: self.max >=}')
    fails "compilation failed: ERROR: <input>:1:" kc create -f <(rules_crd wronger '{rule: self.max >=}')
    fails "must evaluate to a bool" kc create -f <(rules_crd wronger '{rule: self.max}')
}
t "rules: a CRD whose rules do not compile is refused" rules_compile
