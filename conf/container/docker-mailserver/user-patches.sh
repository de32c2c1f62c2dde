#!/bin/bash
# SPDX-License-Identifier: ISC
#
# docker-mailserver runs this file before its daemons start if it is mounted as /tmp/docker-mailserver/user-patches.sh.
# "oncedrop" is the name of oncedrop's container in the same network.
postconf -e 'virtual_transport = lmtp:inet:oncedrop:2424' 'lmtp_host_lookup = native' \
    'smtpd_sasl_authenticated_header = yes'
