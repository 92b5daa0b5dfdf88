#!/usr/bin/env bash
# A first instance in the embedded cloud of a lab: a network, a group that lets pings and port 9443 in, a router, an instance.
#
#   export OS_CLIENT_CONFIG_FILE=.landbridge/clouds.yaml OS_CLOUD=landbridge
#   examples/cloud/first-instance.sh
#   landbridge exec router/first -- ping -c 1 "$(openstack port list --server first -f json | jq -r '.[0]["Fixed IP Addresses"][0].ip_address')"
set -euo pipefail

openstack flavor show tiny >/dev/null 2>&1 || openstack flavor create tiny --ram 64 --vcpus 1 --disk 0
openstack image show none >/dev/null 2>&1 || openstack image create none --disk-format raw --container-format bare
openstack network create first
openstack subnet create first --network first --subnet-range 10.20.0.0/24 --host-route destination=172.17.0.0/24,gateway=10.20.0.1
openstack security group create first
openstack security group rule create first --protocol icmp
openstack security group rule create first --protocol tcp --dst-port 9443
openstack router create first
openstack router add subnet first first
openstack server create first --flavor tiny --image none --network first --security-group first
openstack server list
