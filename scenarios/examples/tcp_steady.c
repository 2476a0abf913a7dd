// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * TCP Steady: an example of a congestion-control module in the form that Linux has.
 *
 * Slow start as everywhere; then the window grows by `alpha` segments per round-trip time and
 * a loss multiplies it by `beta` / 1024 (AIMD: Chiu and Jain 1989). With alpha = 1 and
 * beta = 512 that is Reno.
 *
 * Try it:    dumbbell run scenarios/examples/own-module.toml --cca scenarios/examples/tcp_steady.c
 * Or load it into a kernel:   obj-m += tcp_steady.o
 */
#include <linux/module.h>
#include <net/tcp.h>

static int alpha __read_mostly = 1;
static int beta __read_mostly = 717;

module_param(alpha, int, 0644);
MODULE_PARM_DESC(alpha, "segments added per round-trip time");
module_param(beta, int, 0644);
MODULE_PARM_DESC(beta, "share of the window kept after a loss (in 1/1024)");

struct steady {
	u32 loss_cwnd; /* window before the last reduction, segments */
};

static void steady_init(struct sock *sk)
{
	struct steady *ca = inet_csk_ca(sk);

	ca->loss_cwnd = 0;
}

static u32 steady_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct steady *ca = inet_csk_ca(sk);

	ca->loss_cwnd = tcp_snd_cwnd(tp);
	return max(tcp_snd_cwnd(tp) * beta / 1024, 2U);
}

static void steady_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, max(tcp_snd_cwnd(tp) / max(alpha, 1), 1U), acked);
}

static u32 steady_undo_cwnd(struct sock *sk)
{
	const struct steady *ca = inet_csk_ca(sk);

	return max(tcp_snd_cwnd(tcp_sk(sk)), ca->loss_cwnd);
}

static struct tcp_congestion_ops steady __read_mostly = {
	.init		= steady_init,
	.ssthresh	= steady_ssthresh,
	.cong_avoid	= steady_cong_avoid,
	.undo_cwnd	= steady_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "steady",
};

static int __init steady_register(void)
{
	BUILD_BUG_ON(sizeof(struct steady) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&steady);
}

static void __exit steady_unregister(void)
{
	tcp_unregister_congestion_control(&steady);
}

module_init(steady_register);
module_exit(steady_unregister);

MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("TCP Steady, an example");
