import { type KubernetesObject, objectAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { SECRETS, typeMeta } from "../objects/kinds.ts";
import { LABEL_RUNTIME, labelValue } from "../objects/labels.ts";
import { encode, secretText } from "./authority.ts";
import type { CertificateRequest, KeyPair } from "./certificates.ts";
import { certificatesOf, isRolledOut } from "./deployment-health.ts";
import { hashOf } from "./hash.ts";
import { serviceName, type Workload } from "./manifests.ts";
import type { SeenWorkload } from "./observe-workload.ts";
import { fulfilTls, planTls, type TlsContent, type TlsPair, type TlsState } from "./tls-secrets.ts";

/** An object of a workload, as it must be and as it is. */
export interface Wanted {
  readonly manifest: KubernetesObject;
  readonly existing: LiveObject | undefined;
  readonly isSame: boolean;
}

export interface WorkloadSecrets {
  /** The server's precedes: it trusts what the client gets next. */
  readonly secrets: readonly Wanted[];
  /** Identifies the content with which pods start: a new one replaces them. */
  readonly certificates: string;
}

/**
 * The Secrets of a workload, which do not change; undefined if they must.
 *
 * @param now milliseconds since the epoch
 */
export function knownSecrets(seen: SeenWorkload, authority: KeyPair, now: number): WorkloadSecrets | undefined {
  const state = tlsState(seen, authority, now);
  return planTls(state) === undefined ? wantedSecrets(seen, state) : undefined;
}

/** The Secrets of a workload. Issues the certificates that it needs. */
export async function nextSecrets(seen: SeenWorkload, authority: KeyPair, now: number): Promise<WorkloadSecrets> {
  const state = tlsState(seen, authority, now);
  const due = planTls(state);
  const contents = due === undefined ? state : await fulfilTls(due, state);
  return wantedSecrets(seen, contents);
}

function wantedSecrets(
  { workload, names, server, client }: SeenWorkload,
  contents: TlsPair<TlsContent | undefined>,
): WorkloadSecrets {
  const wanted = (name: string, existing: LiveObject | undefined, content: TlsContent | undefined): Wanted => ({
    manifest: secretOf(workload, name, content),
    existing,
    isSame: existing !== undefined && sameContent(contentOf(existing), content),
  });
  const secrets = [wanted(names.server, server, contents.server), wanted(names.client, client, contents.client)];
  const stored = secrets.map(({ manifest, existing, isSame }) => (isSame ? existing : manifest));
  return { secrets, certificates: hashOfSecrets(workload, stored) };
}

function tlsState(seen: SeenWorkload, authority: KeyPair, now: number): TlsState {
  const { workload, server, client, deployment } = seen;
  const isCurrent =
    deployment !== undefined && certificatesOf(deployment) === hashOfSecrets(workload, [server, client]);
  return {
    authority,
    server: contentOf(server),
    client: contentOf(client),
    isRolledOut: isCurrent && isRolledOut(deployment),
    requests: requestsOf(workload),
    now,
  };
}

function requestsOf(workload: Workload): TlsPair<CertificateRequest> {
  const { namespace } = workload;
  const name = serviceName(workload);
  const host = `${name}.${namespace}`;
  return {
    server: { usage: "server", names: [host, name, `${host}.svc`, `${host}.svc.cluster.local`] },
    client: { usage: "client", names: ["xfn-controller"] },
  };
}

function contentOf(secret: LiveObject | undefined): TlsContent | undefined {
  if (secret === undefined) return undefined;
  return {
    cert: secretText(secret, "tls.crt"),
    key: secretText(secret, "tls.key"),
    ca: secretText(secret, "ca.crt"),
  };
}

function secretOf(workload: Workload, name: string, content: TlsContent | undefined): KubernetesObject {
  const { cert = "", key = "", ca = "" } = content ?? {};
  return {
    ...typeMeta(SECRETS),
    metadata: {
      name,
      namespace: workload.namespace,
      labels: { [LABEL_RUNTIME]: labelValue(workload.runtime) },
      ownerReferences: [workload.owner],
    },
    type: "Opaque",
    // In the order of the API server, so that the hash of the stored Secret is the same.
    data: { "ca.crt": encode(ca), "tls.crt": encode(cert), "tls.key": encode(key) },
  };
}

function sameContent(one: TlsContent | undefined, other: TlsContent | undefined): boolean {
  return one?.cert === other?.cert && one?.key === other?.key && one?.ca === other?.ca;
}

function hashOfSecrets({ kind }: Workload, [server, client]: readonly (KubernetesObject | undefined)[]): string {
  return hashOf([server, kind === "Provider" ? client : undefined].map((one) => one && objectAt(one, "data")));
}
