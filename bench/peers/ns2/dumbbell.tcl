# The benchmark's first scenario on ns-2 (2.35).
#
#   sender i --(10 times the rate, own delay)--> r1 --(rate, tail drop)--> r2 --(10 times the rate)--> receiver i
#
# One connection of Agent/TCP/Linux per pair, which runs the congestion control of Linux 2.6 behind ns-2's own SACK,
# started at random within the first 100 ms. A full segment is 1514 bytes on the wire, as on Ethernet. Prints one JSON
# object in a line of its own; time and memory are measured from outside.
#
#   ns dumbbell.tcl RATE_MBPS FLOWS RTT_MS BUFFER_PACKETS SECONDS CONTROLLER
foreach {rate flows rtt buffer seconds controller} $argv break

set payload 1448
# Ethernet, IP and TCP; the timestamps come on top, 12 bytes.
Agent/TCP set tcpip_base_hdr_size_ 54
Agent/TCP set timestamps_ true
Agent/TCP set packetSize_ $payload
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 10
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/TCPSink/Sack1/DelAck set interval_ 40ms

set ns [new Simulator -multicast off]
$ns use-scheduler Heap
# Packets have only the headers that are used: less to copy.
remove-all-packet-headers
add-packet-header IP TCP Flags

# The bottleneck has 1 ms of the delay each way, the sender's link the rest of it.
set r1 [$ns node]
set r2 [$ns node]
$ns simplex-link $r1 $r2 ${rate}Mb 1ms DropTail
$ns simplex-link $r2 $r1 ${rate}Mb 1ms DropTail
$ns queue-limit $r1 $r2 $buffer
$ns queue-limit $r2 $r1 1000000

set start [new RNG]
$start seed 1
for {set i 0} {$i < $flows} {incr i} {
    set sender [$ns node]
    set receiver [$ns node]
    $ns duplex-link $sender $r1 [expr $rate * 10]Mb [expr $rtt / 2.0 - 1.0]ms DropTail
    $ns queue-limit $sender $r1 1000000
    $ns duplex-link $r2 $receiver [expr $rate * 10]Mb 0ms DropTail
    $ns queue-limit $r2 $receiver 1000000
    set tcp($i) [new Agent/TCP/Linux]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $sender $tcp($i)
    $ns attach-agent $receiver $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at 0 "$tcp($i) select_ca $controller"
    $ns at [$start uniform 0 0.1] "$ftp start"
}

# A sender counts segments from 0: so many and one have been acknowledged.
proc finish {} {
    global flows tcp payload
    set segments 0
    for {set i 0} {$i < $flows} {incr i} {
        incr segments [expr [$tcp($i) set ack_] + 1]
    }
    puts "\n{\"goodput_bytes\": [expr $segments * $payload]}"
    exit 0
}
$ns at $seconds finish
$ns run
