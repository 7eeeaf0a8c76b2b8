import { isObject, type JsonObject } from "@xfn/json";
import { KubeconfigError } from "./kubeconfig-error.ts";

type Headers = Readonly<Record<string, string>>;

// Tokens are valid for minutes at least, and the official client caches them.
const ASK_AGAIN_MS = 30_000;

/** An optional peer dependency. */
const CLIENT = "@kubernetes/client-node@2";

/**
 * `auth-provider` of a kubeconfig (oidc, gcp, azure), which kubectl replaced by `exec`. Delegates to the official
 * client, which users of such kubeconfigs install themselves, because it has 60 MB.
 */
export class LegacyProvider {
  readonly #user: string;
  readonly #provider: JsonObject;
  #headers: Promise<Headers> | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(user: string, provider: JsonObject) {
    this.#user = user;
    this.#provider = provider;
  }

  headers(): Promise<Headers> {
    if (this.#headers !== undefined && performance.now() - this.#askedAt <= ASK_AGAIN_MS) return this.#headers;
    return this.#fetch();
  }

  async refresh(): Promise<boolean> {
    const before = await this.#headers;
    return (await this.#fetch())["authorization"] !== before?.["authorization"];
  }

  #fetch(): Promise<Headers> {
    this.#askedAt = performance.now();
    this.#headers = askOfficialClient(this.#user, this.#provider).catch((cause: unknown) => {
      this.#headers = undefined;
      const text = `user ${this.#user}: its auth-provider failed: ${cause instanceof Error ? cause.message : String(cause)}`;
      throw new KubeconfigError("Credentials", text, { cause });
    });
    return this.#headers;
  }
}

async function askOfficialClient(name: string, provider: JsonObject): Promise<Headers> {
  const { KubeConfig } = await import("@kubernetes/client-node").catch((cause: unknown) => {
    const text = `it needs a package that cannot be loaded: npm install ${CLIENT}, or use an exec plugin`;
    throw new Error(text, { cause });
  });
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: "cluster", server: "https://localhost", skipTLSVerify: false },
    { name, authProvider: structuredClone(provider) },
  );
  const options: { headers?: Record<string, unknown> } = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [key, value] of Object.entries(isObject(options.headers) ? options.headers : {})) {
    if (typeof value === "string") headers[key.toLowerCase()] = value;
  }
  return headers;
}
