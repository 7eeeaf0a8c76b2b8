import { readFileSync } from "node:fs";

// The kubelet replaces a token when a fifth of its life (an hour by default) is left. client-go rereads every minute
// too.
const READ_AGAIN_MS = 60_000;

/** A bearer token in a file that another program replaces before it expires. */
export class TokenFile {
  readonly #path: string;
  readonly #now: () => number;
  #headers: Readonly<Record<string, string>> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(path: string, now: () => number = () => performance.now()) {
    this.#path = path;
    this.#now = now;
  }

  headers(): Readonly<Record<string, string>> {
    if (this.#headers === undefined || this.#now() - this.#readAt > READ_AGAIN_MS) this.#read();
    return this.#headers ?? {};
  }

  /** Rereads the file, and returns whether the token has changed. */
  async refresh(): Promise<boolean> {
    const before = this.#headers?.["authorization"];
    this.#read();
    return this.#headers?.["authorization"] !== before;
  }

  #read(): void {
    try {
      const token = readFileSync(this.#path, "utf8").trim();
      this.#headers = { authorization: `Bearer ${token}` };
    } catch (error) {
      // The file is being replaced, and the previous token is still valid for some time.
      if (this.#headers === undefined) throw error;
    }
    this.#readAt = this.#now();
  }
}
