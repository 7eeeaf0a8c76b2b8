import { Agent, request } from "node:https";
import type { JsonObject, JsonValue } from "@xfn/json";
import { parseTrustedJson } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";

/** The answer of an API server. */
export interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

const ATTEMPTS = 3;

/** A cause in a refusal of an API server. */
export interface Cause {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

/** Makes requests as the admin of an API server. */
export class Server {
  readonly #agent: Agent;
  readonly #endpoint: string;
  readonly #token: string;

  constructor({ endpoint, ca, admin }: { endpoint: string; ca: string; admin: { token: string } }) {
    this.#agent = new Agent({ ca, keepAlive: true });
    this.#endpoint = endpoint;
    this.#token = admin.token;
  }

  /** Makes a request, again if the server was too busy to answer in time. */
  async send(method: string, path: string, body?: JsonValue): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#once(method, path, body);
      if (answer.status < 500 && answer.status !== 429) return answer;
      if (attempt === ATTEMPTS) throw new Error(`${method} ${path}: ${printJson(answer.body).slice(0, 2000)}`);
    }
  }

  #once(method: string, path: string, body?: JsonValue): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        new URL(path, this.#endpoint),
        {
          method,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.#token}`,
            "content-type": "application/json",
            accept: "application/json",
          },
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
          incoming.on("error", reject);
          incoming.on("end", () => {
            const text = Buffer.concat(chunks);
            // A path that is not served is answered in plain text.
            const isJson = incoming.headers["content-type"]?.startsWith("application/json") === true;
            const answer = isJson ? (parseTrustedJson(text) as JsonObject) : { message: text.toString() };
            resolve({ status: incoming.statusCode ?? 0, body: answer });
          });
        },
      );
      outgoing.on("error", reject);
      outgoing.end(body === undefined ? undefined : printJson(body));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The causes of a refusal. */
export function causesOf({ body }: Answer): Cause[] {
  const details = body["details"] as { causes?: Cause[] } | undefined;
  return details?.causes ?? [];
}
