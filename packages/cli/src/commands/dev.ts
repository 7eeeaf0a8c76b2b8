import type { ClusterFlags } from "../dev/cluster-command.ts";
import type { CommandContext } from "./command-context.ts";

const HELP = `
etcd, kube-apiserver and kube-controller-manager run on loopback until Ctrl-C. There are no nodes: pods are accepted and never
run. The programs are looked for in KUBEBUILDER_ASSETS, then in xfn's cache; what is in neither is built there with Go, which takes
some minutes, once.

Example:
  $ xfn dev cluster --data-dir ./cluster
  export KUBECONFIG=/home/ada/cluster/kubeconfig

  # in another terminal: KUBECONFIG as above, and a kubectl on the PATH
  $ . ./cluster/env
  $ kubectl get namespaces`;

/** Declares `xfn dev`. */
export function addDev({ program, output, finish }: CommandContext): void {
  const dev = program.command("dev").description("what helps to try things out: dev cluster");
  dev
    .command("cluster")
    .description("run a Kubernetes API server on this machine until Ctrl-C")
    .option("--data-dir <dir>", "keep its state here between starts (default: a temporary folder)")
    .option("--users <names>", "make users besides admin, separated by commas, each with a kubeconfig of its own", list)
    .addHelpText("after", HELP)
    .action(async (flags: ClusterFlags) => {
      const { runCluster } = await import("../dev/cluster-command.ts");
      finish(await runCluster(flags, output));
    });
}

function list(value: string): readonly string[] {
  return value.split(",").filter((name) => name !== "");
}
