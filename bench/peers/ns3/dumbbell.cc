// The benchmark's scenarios on ns-3 (3.37 to 3.48).
//
//   sender i --(10 Gbit/s, own delay)--> R1 --(rate B, tail drop Q bytes)--> R2 --(10 Gbit/s)--> receiver i
//
// One TCP connection per pair; each group of flows has its own congestion control and RTT, started at
// random within the first 100 ms. TCP is set as close to a Linux host as ns-3's attributes allow. Prints
// one JSON object on stdout; time and memory are measured from outside.
//
//   dumbbell --rate=1Gbps --flows='TcpCubic*100@20' --bufferBytes=2500000 --time=10
//   --flows is a comma list of TypeName*count@rtt_ms
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t kMss = 1448;
constexpr uint32_t kSocketBufferBytes = 8u << 20;
// Larger writes are cheaper for ns-3 in time and memory.
constexpr uint32_t kWriteBytes = 14480;
constexpr double kStartSpreadS = 0.1;

struct FlowSpec
{
    std::string type;
    double rttMs;
};

std::vector<FlowSpec>
ParseFlows(const std::string& text)
{
    std::vector<FlowSpec> out;
    std::stringstream items(text);
    std::string item;
    while (std::getline(items, item, ','))
    {
        const auto star = item.find('*');
        const auto at = item.find('@');
        NS_ABORT_MSG_IF(star == std::string::npos || at == std::string::npos, "bad --flows item " << item);
        const FlowSpec flow{item.substr(0, star), std::stod(item.substr(at + 1))};
        out.insert(out.end(), std::stoi(item.substr(star + 1, at - star - 1)), flow);
    }
    return out;
}

// SACK, initial window 10, an ACK for every second segment or after 40 ms, RTO of at least 200 ms.
void
LinuxLikeTcp()
{
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMss));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(kSocketBufferBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(kSocketBufferBytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
}

struct Path
{
    NodeContainer senders;
    NodeContainer receivers;
    std::vector<Ipv4Address> to;
    Ptr<Queue<Packet>> queue;
};

// Without flow control the device queue itself drops, which also saves ns-3 an event a packet.
Path
BuildPath(const std::string& rate, uint64_t bufferBytes, const std::vector<FlowSpec>& flows)
{
    Path path;
    NodeContainer routers(2);
    path.senders.Create(flows.size());
    path.receivers.Create(flows.size());
    InternetStackHelper stack;
    stack.SetRoutingHelper(Ipv4NixVectorHelper());
    stack.SetIpv6StackInstall(false);
    stack.Install(routers);
    stack.Install(path.senders);
    stack.Install(path.receivers);

    // The bottleneck has 1 ms of the delay each way, the sender's link the rest of it.
    const Time oneWay = MilliSeconds(1);
    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", StringValue(rate));
    bottleneck.SetChannelAttribute("Delay", TimeValue(oneWay));
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>",
                        "MaxSize",
                        QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, bufferBytes)));
    bottleneck.DisableFlowControl();
    const NetDeviceContainer ends = bottleneck.Install(routers);
    path.queue = DynamicCast<PointToPointNetDevice>(ends.Get(0))->GetQueue();

    PointToPointHelper edge;
    edge.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    edge.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    edge.DisableFlowControl();

    Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
    address.Assign(ends);
    address.NewNetwork();
    for (uint32_t i = 0; i < flows.size(); ++i)
    {
        edge.SetChannelAttribute("Delay", TimeValue(Seconds(flows[i].rttMs * 0.5e-3) - oneWay));
        address.Assign(edge.Install(path.senders.Get(i), routers.Get(0)));
        address.NewNetwork();
        edge.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
        path.to.push_back(address.Assign(edge.Install(routers.Get(1), path.receivers.Get(i))).GetAddress(1));
        address.NewNetwork();
    }
    return path;
}

std::vector<Ptr<PacketSink>>
StartFlows(const Path& path, const std::vector<FlowSpec>& flows)
{
    constexpr uint16_t port = 5000;
    auto start = CreateObject<UniformRandomVariable>();
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < flows.size(); ++i)
    {
        path.senders.Get(i)->GetObject<TcpL4Protocol>()->SetAttribute(
            "SocketType",
            TypeIdValue(TypeId::LookupByName("ns3::" + flows[i].type)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(path.to[i], port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(kWriteBytes));
        bulk.Install(path.senders.Get(i)).Start(Seconds(start->GetValue(0, kStartSpreadS)));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer app = sink.Install(path.receivers.Get(i));
        app.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(app.Get(0)));
    }
    return sinks;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string rate = "1Gbps";
    std::string text = "TcpCubic*100@20";
    uint64_t bufferBytes = 2500000;
    double time = 10;
    CommandLine cmd(__FILE__);
    cmd.AddValue("rate", "bottleneck rate", rate);
    cmd.AddValue("flows", "TypeName*count@rtt_ms,...", text);
    cmd.AddValue("bufferBytes", "buffer of the bottleneck, bytes", bufferBytes);
    cmd.AddValue("time", "simulated seconds", time);
    cmd.Parse(argc, argv);

    LinuxLikeTcp();
    const auto flows = ParseFlows(text);
    const Path path = BuildPath(rate, bufferBytes, flows);
    const auto sinks = StartFlows(path, flows);
    Simulator::Stop(Seconds(time));
    Simulator::Run();

    uint64_t bytes = 0;
    std::string each;
    for (const auto& sink : sinks)
    {
        bytes += sink->GetTotalRx();
        each += (each.empty() ? "" : ", ") + std::to_string(sink->GetTotalRx() * 8e-6 / time);
    }
    std::printf("{\"goodput_bytes\": %llu, \"drops\": %llu, \"events\": %llu, \"flow_mbps\": [%s]}\n",
                (unsigned long long)bytes,
                (unsigned long long)path.queue->GetTotalDroppedPackets(),
                (unsigned long long)Simulator::GetEventCount(),
                each.c_str());
    Simulator::Destroy();
    return 0;
}
