import {
  type CertificateRequest,
  certificatesIn,
  hasNames,
  isDue,
  isExpired,
  isIssuedBy,
  isPair,
  issueCertificate,
  type KeyPair,
} from "./certificates.ts";

/** The content of a Secret with a certificate: the pair, and the authorities that its holder trusts. */
export interface TlsContent extends KeyPair {
  readonly ca: string;
}

/** Both ends of a runtime's connections. */
export interface TlsPair<T> {
  readonly server: T;
  readonly client: T;
}

/** The inputs of the decision whether to issue certificates. */
export interface TlsState {
  readonly authority: KeyPair;
  readonly server: TlsContent | undefined;
  readonly client: TlsContent | undefined;
  /** Whether all pods of the runtime use the content of the server's Secret. */
  readonly isRolledOut: boolean;
  readonly requests: TlsPair<CertificateRequest>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The next content of one Secret. */
interface NextContent {
  /** The content up to now if its certificate stays. */
  readonly kept: TlsContent | undefined;
  readonly ca: string;
}

/**
 * The next content of a runtime's Secrets, such that both ends trust each other at each step, whichever pods have
 * restarted. After the authority changed:
 *
 * 1. Both ends trust both authorities, and the server has a certificate of the new one. Its pods restart.
 * 2. When all pods have it, the client gets a certificate of the new authority and trusts no other one.
 * 3. The server trusts only the new authority. Its pods restart.
 *
 * @returns undefined if nothing changes
 */
export function planTls(state: TlsState): TlsPair<NextContent> | undefined {
  const { authority, server, client, isRolledOut, requests, now } = state;
  const isOfAuthority = (one: TlsContent | undefined): one is TlsContent =>
    one !== undefined && isPair(one) && isIssuedBy(one.cert, authority.cert);
  const keptServer =
    isOfAuthority(server) && !isDue(server.cert, now) && hasNames(server.cert, requests.server.names)
      ? server
      : undefined;
  const isTrusted = isOfAuthority(client) || (isRolledOut && trusts(server, authority));
  const isUsable = client !== undefined && isPair(client) && !isExpired(client.cert, now);
  // A client of the new authority would be refused by the pods that have not restarted.
  const isClientDue = client === undefined || !isOfAuthority(client) || isDue(client.cert, now);
  const keptClient = isClientDue && (isTrusted || !isUsable) ? undefined : client;
  const serverCa = isOfAuthority(keptClient)
    ? authority.cert
    : bundle(authority, [...certificatesIn(server?.ca ?? ""), ...certificatesIn(client?.ca ?? "")], now);
  const isServed = keptServer !== undefined && isRolledOut;
  const clientCa = isServed ? authority.cert : bundle(authority, certificatesIn(client?.ca ?? server?.ca ?? ""), now);
  const isSame = keptServer?.ca === serverCa && keptClient?.ca === clientCa;
  if (isSame) return undefined;
  return { server: { kept: keptServer, ca: serverCa }, client: { kept: keptClient, ca: clientCa } };
}

/** Issues the certificates of a plan. */
export async function fulfilTls(plan: TlsPair<NextContent>, state: TlsState): Promise<TlsPair<TlsContent>> {
  const { authority, requests, now } = state;
  const contentOf = async ({ kept, ca }: NextContent, request: CertificateRequest): Promise<TlsContent> => {
    const { cert, key } = kept ?? (await issueCertificate(authority, request, now));
    return { cert, key, ca };
  };
  const [server, client] = await Promise.all([
    contentOf(plan.server, requests.server),
    contentOf(plan.client, requests.client),
  ]);
  return { server, client };
}

function trusts(content: TlsContent | undefined, authority: KeyPair): boolean {
  return certificatesIn(content?.ca ?? "").includes(authority.cert);
}

/** The authority, then others that have not expired. */
export function bundle(authority: KeyPair, others: readonly string[], now: number): string {
  const valid = others.filter((one) => !isExpired(one, now));
  return [...new Set([authority.cert, ...valid])].join("");
}
