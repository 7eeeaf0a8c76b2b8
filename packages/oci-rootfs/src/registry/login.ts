import type { RegistryAuth } from "@xfn/runner-contract";
import { ImageError } from "../base/errors.ts";
import { SingleFlight } from "../base/single-flight.ts";
import { basicAuthorization, type Challenge, mayAuthenticateAt, parseChallenges } from "./auth.ts";
import type { Credentials } from "./credentials.ts";
import { parseJson, responseError } from "./response-error.ts";
import { type RegistryTransport, type TransportResponse, withoutCredentials } from "./transport.ts";

/** Token responses have a few KiB. HTTP servers accept headers of 16 KiB at most, and the token must fit into one. */
const MAX_TOKEN_BYTES = 64 * 1024;
/** The lifetime of a token without `expires_in` (distribution, "Token Authentication Specification"). */
const DEFAULT_TOKEN_SECONDS = 60;
/** A token is renewed this long before it expires, to cover the duration of a request. */
const TOKEN_MARGIN_MS = 5000;

interface Login {
  /** The header. */
  readonly authorization: string;
  /** Time of `performance.now()`, independent of the registry's clock. */
  readonly renewAt: number;
  readonly challenge: Challenge | undefined;
}

export interface LoginOptions {
  /** The host, as image names spell it. */
  readonly registry: string;
  readonly repository: string;
  readonly auth: RegistryAuth | undefined;
  readonly credentials: Credentials | undefined;
  readonly trustedRealms: readonly string[];
}

/**
 * The authorization for one registry, by scope. Credentials are looked up when the registry first requires some, so
 * that public images start no credential helper.
 */
export class RegistryLogin {
  readonly #transport: RegistryTransport;
  readonly #options: LoginOptions;
  readonly #logins = new Map<string, Login>();
  readonly #flights = new SingleFlight<void>();
  #auth: Promise<RegistryAuth> | undefined;
  #known: RegistryAuth | undefined;
  #withheldFrom: string | undefined;
  #credentialsError: ImageError | undefined;

  constructor(transport: RegistryTransport, options: LoginOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  /** The header for these scopes, if known. Renews a token that is about to expire. */
  async authorization(scopes: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    const key = scopes.join(" ");
    const login = this.#logins.get(key);
    if (login?.challenge !== undefined && performance.now() >= login.renewAt) {
      this.#logins.delete(key);
      await this.#logIn([login.challenge], scopes, signal);
    }
    return this.#logins.get(key)?.authorization;
  }

  /** Answers a challenge (token authentication or Basic), unless a concurrent request has done so. */
  async answer(
    response: TransportResponse,
    used: string | undefined,
    scopes: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const header = response.headers["www-authenticate"];
    await response.body.dump();
    if (this.#logins.get(scopes.join(" "))?.authorization !== used) return;
    const challenges = parseChallenges(Array.isArray(header) ? header.join(", ") : (header ?? ""));
    await this.#logIn(challenges, scopes, signal);
  }

  /** Explains a rejection, without the credentials themselves. */
  refusal(): string {
    const failed = this.#credentialsError === undefined ? "" : ` (${this.#credentialsError.message})`;
    return `; ${this.#reason()}${failed}`;
  }

  #reason(): string {
    const realm = this.#withheldFrom;
    if (realm !== undefined)
      return `its credentials were not sent to the token server ${realm}, which is another host; --trusted-realm ${realm} (trustedRealms) allows that`;
    return this.#known === undefined || !hasCredentials(this.#known)
      ? "it may not exist, or requires credentials"
      : "the registry does not accept the credentials for it";
  }

  #logIn(challenges: readonly Challenge[], scopes: readonly string[], signal: AbortSignal): Promise<void> {
    // Concurrent requests for layers are all rejected, and share one token.
    const key = scopes.join(" ");
    return this.#flights.run(key, signal, async (shared) => {
      const auth = await this.#credentials(shared);
      const { registryToken } = auth;
      if (registryToken !== undefined && registryToken !== "") {
        const login = { authorization: bearer(registryToken), renewAt: Number.POSITIVE_INFINITY, challenge: undefined };
        this.#logins.set(key, login);
        return;
      }
      const challenge = challenges.find(({ scheme }) => scheme === "bearer");
      if (challenge !== undefined) {
        this.#logins.set(key, await this.#token(challenge, scopes, auth, shared));
        return;
      }
      const basic = basicAuthorization(auth);
      if (challenges.some(({ scheme }) => scheme === "basic") && basic !== undefined)
        this.#logins.set(key, {
          authorization: basic,
          renewAt: Number.POSITIVE_INFINITY,
          challenge: undefined,
        });
    });
  }

  async #credentials(signal: AbortSignal): Promise<RegistryAuth> {
    const { auth, credentials, registry, repository } = this.#options;
    this.#auth ??= (async () => {
      if (auth !== undefined && hasCredentials(auth)) return auth;
      try {
        return (await credentials?.({ registry, repository, signal })) ?? {};
      } catch (error) {
        if (signal.aborted) throw error;
        // Many images are public. The error of a broken helper is reported only if anonymous access fails.
        this.#credentialsError = ImageError.from(error);
        return {};
      }
    })();
    try {
      this.#known = await this.#auth;
    } catch (error) {
      this.#auth = undefined;
      throw error;
    }
    return this.#known;
  }

  async #token(
    challenge: Challenge,
    scopes: readonly string[],
    auth: RegistryAuth,
    signal: AbortSignal,
  ): Promise<Login> {
    const { registry } = this.#transport;
    const { realm: where = "", service } = challenge.parameters;
    const parsed = URL.parse(where);
    if (parsed === null || (parsed.protocol !== "https:" && parsed.protocol !== "http:")) {
      throw new ImageError("Unauthorized", `${registry.host} has a challenge without a valid token server`);
    }
    if (parsed.protocol === "http:" && registry.protocol === "https:") {
      throw new ImageError("UnsafeAddress", `${registry.host} has a token server without https (${parsed.host})`);
    }
    const realm = withoutCredentials(parsed);
    // Requests the scopes of this operation, not those of the challenge, so that the token permits nothing else.
    const trusted = mayAuthenticateAt(realm, registry, this.#options.trustedRealms);
    const basic = basicAuthorization(auth);
    const { identityToken } = auth;
    if (!trusted && hasCredentials(auth)) this.#withheldFrom = realm.host;
    const timed = this.#transport.timed(signal);
    let response: TransportResponse;
    if (trusted && identityToken !== undefined && identityToken !== "") {
      const form = new URLSearchParams({
        grant_type: "refresh_token",
        refresh_token: identityToken,
        client_id: "xfn",
        scope: scopes.join(" "),
      });
      if (service !== undefined) form.set("service", service);
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      response = await this.#transport.send(realm, { method: "POST", headers, body: form.toString(), signal: timed });
    } else {
      if (service !== undefined) realm.searchParams.set("service", service);
      realm.searchParams.delete("scope");
      for (const scope of scopes) realm.searchParams.append("scope", scope);
      const headers: Record<string, string> = trusted && basic !== undefined ? { authorization: basic } : {};
      response = await this.#transport.send(realm, { method: "GET", headers, signal: timed });
    }
    // Redirects are not followed, because they could leak credentials to any host.
    if (response.status !== 200) throw await responseError(this.#transport, response, "token", this.refusal(), false);
    const fields = parseJson(await this.#transport.read(response, MAX_TOKEN_BYTES, timed, "token response"));
    const token = [fields["token"], fields["access_token"]].find((value) => typeof value === "string" && value !== "");
    if (typeof token !== "string") throw new ImageError("Unauthorized", `${realm.host} returned no token`);
    const expiresIn = fields["expires_in"];
    const seconds = typeof expiresIn === "number" && expiresIn > 0 ? expiresIn : DEFAULT_TOKEN_SECONDS;
    // A token that expires within the margin is still used once.
    const lifeMs = Math.max(seconds * 1000 - TOKEN_MARGIN_MS, (seconds * 1000) / 2);
    return { authorization: bearer(token), renewAt: performance.now() + lifeMs, challenge };
  }
}

function hasCredentials(auth: RegistryAuth): boolean {
  return [auth.username, auth.password, auth.auth, auth.identityToken, auth.registryToken].some(
    (value) => value !== undefined && value !== "",
  );
}

function bearer(token: string): string {
  // A line break in the token would inject a header.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ImageError("Unauthorized", "the token is not a single line of printable characters");
  return `Bearer ${token}`;
}
