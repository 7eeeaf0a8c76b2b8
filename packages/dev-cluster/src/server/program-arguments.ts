import { join } from "node:path";

/**
 * The socket of etcd, which asks for no credentials. On a port of loopback, every user of the machine could read all
 * Secrets.
 *
 * Relative to the programs' working directory: the path of a socket has at most 107 characters, and kube-apiserver
 * checks the host of the URL only. etcd requires the form HOST:PORT of the names of its sockets.
 */
export const ETCD_SOCKET = "etcd:0";
const PEER_SOCKET = "etcd-peer:0";

/** Arguments of etcd. A temporary one does not flush its writes to disk. */
export function etcdArguments(folder: string, isTemporary: boolean): readonly string[] {
  const clientUrl = `unix://${ETCD_SOCKET}`;
  const peerUrl = `unix://${PEER_SOCKET}`;
  return [
    `--data-dir=${join(folder, "etcd")}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    "--log-level=warn",
    ...(isTemporary ? ["--unsafe-no-fsync"] : []),
  ];
}

/** Arguments of kube-apiserver. */
export function apiServerArguments(folder: string, port: number): readonly string[] {
  return [
    `--etcd-servers=unix://${ETCD_SOCKET}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, "certs")}`,
    `--token-auth-file=${join(folder, "tokens.csv")}`,
    "--anonymous-auth=false",
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${join(folder, "sa.pub")}`,
    `--service-account-signing-key-file=${join(folder, "sa.key")}`,
    "--service-cluster-ip-range=10.0.0.0/24",
    "--allow-privileged=true",
    // Pods never run here; without this plugin they are accepted without a service account.
    "--disable-admission-plugins=ServiceAccount",
    "--endpoint-reconciler-type=none",
    "--profiling=false",
    "--shutdown-delay-duration=0s",
    "--v=0",
  ];
}

/** Arguments of kube-controller-manager. */
export function managerArguments(folder: string, kubeconfig: string): readonly string[] {
  const controllers = [
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "clusterrole-aggregation-controller",
    "resourcequota-controller",
  ];
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(",")}`,
    "--leader-elect=false",
    "--secure-port=0",
    `--service-account-private-key-file=${join(folder, "sa.key")}`,
    "--use-service-account-credentials=false",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
  ];
}
