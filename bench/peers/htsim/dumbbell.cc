// The benchmark's first scenario on htsim (github.com/Broadcom/csg-htsim).
//
//   sender i --> queue (rate, tail drop) --> pipe (half the RTT) --> receiver i --> pipe (the other half) --> sender i
//
// One TcpSrc per flow: NewReno without SACK, an acknowledgement for each packet; htsim has no other TCP with a window
// of its own. Packets have no headers there: a packet of 1514 bytes stands for a segment of 1448 on Ethernet, and what
// is delivered is counted so. Started at random within the first 100 ms. Prints one JSON object on stdout; time and
// memory are measured from outside.
//
//   dumbbell RATE_MBPS FLOWS RTT_MS BUFFER_BYTES SECONDS
#include "config.h"

#include "clock.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace
{

constexpr int kWireBytes = 1514;
constexpr int kPayloadBytes = 1448;
constexpr double kStartSpreadS = 0.1;
// How often htsim looks for retransmission timeouts.
constexpr double kTimerMs = 10;

struct Flow
{
    TcpSrc* source;
    TcpSink* sink;
};

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 6)
    {
        std::fprintf(stderr, "usage: dumbbell RATE_MBPS FLOWS RTT_MS BUFFER_BYTES SECONDS\n");
        return 2;
    }
    const uint64_t mbps = std::strtoull(argv[1], nullptr, 10);
    const int count = std::atoi(argv[2]);
    const double rttMs = std::atof(argv[3]);
    const mem_b bufferBytes = std::atoll(argv[4]);
    const double seconds = std::atof(argv[5]);

    // htsim tells of each timeout on std::cout.
    std::cout.setstate(std::ios::failbit);
    srand48(1);
    EventList events;
    events.setEndtime(timeFromSec(seconds));
    Packet::set_packet_size(kWireBytes);

    Queue queue(speedFromMbps(mbps), bufferBytes, events, nullptr);
    Pipe there(timeFromMs(rttMs / 2), events);
    Pipe back(timeFromMs(rttMs / 2), events);
    TcpRtxTimerScanner timers(timeFromMs(kTimerMs), events);
    std::vector<Flow> flows;
    for (int i = 0; i < count; ++i)
    {
        const Flow flow{new TcpSrc(nullptr, nullptr, events), new TcpSink()};
        route_t* out = new route_t();
        out->push_back(&queue);
        out->push_back(&there);
        out->push_back(flow.sink);
        route_t* in = new route_t();
        in->push_back(&back);
        in->push_back(flow.source);
        flow.source->connect(*out, *in, *flow.sink, timeFromSec(drand48() * kStartSpreadS));
        timers.registerTcp(*flow.source);
        flows.push_back(flow);
    }
    while (events.doNextEvent())
    {
    }

    uint64_t packets = 0;
    for (const Flow& flow : flows)
    {
        packets += flow.sink->_cumulative_ack / kWireBytes;
    }
    std::printf("{\"goodput_bytes\": %llu, \"drops\": %d}\n",
                (unsigned long long)(packets * kPayloadBytes),
                queue.num_drops());
    return 0;
}
