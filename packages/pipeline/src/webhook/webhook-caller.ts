import { lookup as dnsLookup } from "node:dns";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { finished } from "node:stream/promises";
import tls from "node:tls";
import { isMetadataAddress } from "@xfn/oci-rootfs/network-scope";
import { DEFAULT_OUTPUT_BYTES } from "@xfn/runner-contract";
import { HEADERS_BYTES, type PeerBudget, PeerLimitError, peerLimitErrorOf } from "@xfn/runner-contract/peer-limits";
import { currentTrace } from "@xfn/runner-contract/trace-context";
import type { WebhookCaller, WebhookOptions } from "../steps/pipeline-input.ts";
import { MeteredAgent } from "./metered-agent.ts";
import { WebhookError } from "./webhook-error.ts";

/** Settings of a caller of webhooks. */
export interface WebhookCallerOptions {
  /** The largest response, in bytes. Default 16 MiB. */
  readonly maxOutputBytes?: number | undefined;
}

/** A caller that must be closed. */
export interface ClosableWebhookCaller extends WebhookCaller {
  /** Ends the idle connections. */
  close(): void;
}

/** Closes idle connections before common servers do, so that a request rarely uses a closed connection. */
const IDLE_MS = 4000;
const MAX_CONNECTIONS = 64;

/**
 * Posts FunctionIOs to HTTPS servers. Follows no redirect, connects to no metadata service, sends each request once,
 * and bounds the response in bytes and time.
 */
export function createWebhookCaller({
  maxOutputBytes = DEFAULT_OUTPUT_BYTES,
}: WebhookCallerOptions = {}): ClosableWebhookCaller {
  const agent = new MeteredAgent({
    keepAlive: true,
    timeout: IDLE_MS,
    maxTotalSockets: MAX_CONNECTIONS,
    lookup: safeLookup,
  });
  return {
    maxOutputBytes,
    async call(url, input, options) {
      const { hostname } = new URL(url);
      const address = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
      if (isIP(address) !== 0 && isMetadataAddress(address)) throw refusal(address);
      const deadline = AbortSignal.timeout(options.timeoutMs);
      const signal = options.signal === undefined ? deadline : AbortSignal.any([deadline, options.signal]);
      try {
        return await post(url, input, { ...options, signal, agent, maxOutputBytes });
      } catch (error) {
        options.signal?.throwIfAborted();
        if (deadline.aborted) {
          throw new WebhookError("Timeout", `it did not answer within ${options.timeoutMs} ms`, { cause: error });
        }
        throw error;
      }
    },
    close: () => agent.destroy(),
  };
}

/** Resolves a name, and refuses the addresses of cloud metadata services at the connection that is made. */
const safeLookup: LookupFunction = (hostname, options, callback) => {
  dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, "", 0);
    const allowed = addresses.filter(({ address }) => !isMetadataAddress(address));
    const [first] = allowed;
    if (first === undefined) return callback(refusal(addresses[0]?.address ?? hostname), "", 0);
    if (options.all === true) callback(null, allowed);
    else callback(null, first.address, first.family);
  });
};

function refusal(address: string): WebhookError {
  return new WebhookError("AddressRefused", `its address ${address} is link-local, or one of a cloud metadata service`);
}

interface PostOptions extends WebhookOptions {
  readonly signal: AbortSignal;
  readonly agent: MeteredAgent;
  readonly maxOutputBytes: number;
}

function post(
  url: string,
  input: Uint8Array,
  { agent, caBundle, token, signal, maxOutputBytes }: PostOptions,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, {
      method: "POST",
      agent,
      signal,
      ca: caBundle === undefined ? tls.getCACertificates("default") : [caBundle],
      headers: {
        "user-agent": "xfn",
        accept: "application/json, application/yaml",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "content-length": input.length,
        ...currentTrace(),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    });
    let budget: PeerBudget | undefined;
    request.on("socket", (socket) => {
      budget = agent.budgetOf(socket);
      request.once("close", budget.begin(maxOutputBytes));
    });
    request.on("information", () => {
      if (budget?.spend(HEADERS_BYTES) === false) request.destroy(new PeerLimitError());
    });
    request.on("response", (response) => {
      bodyOf(response, maxOutputBytes, budget).then(resolve, reject);
    });
    request.on("error", (error) => reject(connectError(error)));
    request.end(input);
  });
}

function connectError(error: NodeJS.ErrnoException): Error {
  if (error instanceof WebhookError || error.name === "AbortError") return error;
  const excess = peerLimitErrorOf(error);
  if (excess !== undefined) return new WebhookError(excess.code, excess.message, { cause: error });
  const code = error.code ?? "";
  if (isCertificateProblem(code)) {
    const problem = code === "ERR_TLS_CERT_ALTNAME_INVALID" ? "is for another name" : `is not trusted (${code})`;
    return new WebhookError("CertificateRefused", `its certificate ${problem}`, { cause: error });
  }
  if (NO_CONNECTION.has(code)) {
    const options = { cause: error, undelivered: isBeforeRequest(error) };
    return new WebhookError("ConnectFailed", `no connection to its server (${code})`, options);
  }
  return new WebhookError("Truncated", `the connection ended before its answer (${code || "closed"})`, {
    cause: error,
  });
}

/** Errors before a connection exists. After any other error, the server may have received the request. */
const NO_CONNECTION: ReadonlySet<string> = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "ETIMEDOUT",
]);

/** An open connection can end with the same codes. Node combines the errors of several addresses. */
function isBeforeRequest(error: NodeJS.ErrnoException): boolean {
  return error instanceof AggregateError || error.syscall === "connect" || error.syscall === "getaddrinfo";
}

/** OpenSSL's names of verification errors, as Node reports them. */
function isCertificateProblem(code: string): boolean {
  return /^(ERR_TLS_CERT_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH)/u.test(
    code,
  );
}

async function bodyOf(
  response: IncomingMessage,
  maxBytes: number,
  budget: PeerBudget | undefined,
): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    checkHead(response, maxBytes);
    // An iterator would join chunks, but the budget depends on their number.
    response.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) return void response.destroy(tooLarge(maxBytes));
      if (budget?.refundChunk(chunk.length) === false) response.destroy(new PeerLimitError());
      else chunks.push(chunk);
    });
    await finished(response);
    return Buffer.concat(chunks, length);
  } catch (error) {
    response.destroy();
    if (error instanceof WebhookError || (error as Error).name === "AbortError") throw error;
    if (budget?.exceeded === true) throw connectError(new PeerLimitError());
    throw new WebhookError("Truncated", "its answer ended in the middle", { cause: error });
  }
}

function checkHead({ statusCode = 0, headers }: IncomingMessage, maxBytes: number): void {
  if (statusCode !== 200) {
    const redirect = statusCode >= 300 && statusCode < 400 ? "; redirects are not followed" : "";
    const retryable = statusCode === 429 || statusCode >= 500;
    throw new WebhookError("BadStatus", `it answered with status ${statusCode}, not 200${redirect}`, { retryable });
  }
  const { "content-type": type = "none", "content-encoding": encoding = "identity" } = headers;
  if (!/^application\/([\w.+-]+\+)?(json|yaml|x-yaml)\s*(;|$)/iu.test(type)) {
    throw new WebhookError("BadContentType", "the Content-Type of its answer is not application/json");
  }
  if (encoding !== "identity")
    throw new WebhookError("BadContentType", "its answer is compressed, which it was not asked for");
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

function tooLarge(maxBytes: number): WebhookError {
  return new WebhookError("TooLarge", `its answer is larger than ${maxBytes} bytes`);
}
