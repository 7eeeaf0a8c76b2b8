import type { IncomingMessage } from "node:http";
import { createServer } from "node:https";
import { text } from "node:stream/consumers";
import type { JsonObject } from "@xfn/json";
import { type ListenAddress, type Listening, listen } from "@xfn/program";
import type { KeyPair } from "../runtime/certificates.ts";

/** The identity of the webhooks: their certificate, and the path that only the API server knows. */
export interface WebhookIdentity extends KeyPair {
  readonly path: string;
}

export interface AdmissionServer extends Listening {
  /** Uses this identity for new connections. Until the first one, all connections fail. */
  use(identity: WebhookIdentity): void;
}

// The API server opens a few connections. More come from others.
const MAX_CONNECTIONS = 256;
const REQUEST_TIMEOUT_MS = 10_000;
// A review contains one object, which the API server limits to 3 MiB.
const MAX_REVIEW_BYTES = 8 * 1024 * 1024;

/**
 * Serves an admission webhook over HTTPS.
 *
 * @param review answers an AdmissionReview; undefined refuses it as invalid. An error answers 503, which the API server
 *   treats as a denial
 * @throws {Error} if the address is in use
 */
export async function serveAdmission(
  address: ListenAddress,
  review: (body: unknown) => Promise<JsonObject | undefined>,
): Promise<AdmissionServer> {
  let paths: readonly string[] = [];
  const timeouts = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const server = createServer({ ...timeouts, minVersion: "TLSv1.2" }, (request, response) => {
    const answer = (status: number, body: JsonObject | { message: string }): void => {
      response.writeHead(status, {
        "content-type": "application/json",
        connection: status < 400 ? "keep-alive" : "close",
      });
      response.end(JSON.stringify(body));
    };
    if (request.method !== "POST" || !paths.includes(pathOf(request))) return answer(404, { message: "not found" });
    void answerReview(request, review).then(
      ([status, body]) => answer(status, body),
      (error: unknown) => answer(503, { message: String(error) }),
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  const title = "the admission webhook";
  const listening = await listen(server, address, { title, flag: "--admission-address" });
  return {
    ...listening,
    use: ({ cert, key, path }) => {
      server.setSecureContext({ cert, key });
      // The API server may use the previous path for a moment.
      paths = [path, ...paths.filter((one) => one !== path)].slice(0, 2);
    },
  };
}

/** The API server adds its timeout as a query. */
function pathOf({ url = "" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? "";
}

async function answerReview(
  request: IncomingMessage,
  review: (body: unknown) => Promise<JsonObject | undefined>,
): Promise<[number, JsonObject]> {
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_REVIEW_BYTES) request.destroy(new Error("the review is too large"));
  });
  const body = await text(request);
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return [400, { message: "the body is not JSON" }];
  }
  const answer = await review(parsed);
  return answer === undefined ? [400, { message: "the body is not an AdmissionReview of a deletion" }] : [200, answer];
}
