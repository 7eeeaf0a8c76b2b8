import type { RegistryAuth } from "@xfn/runner-contract";
import { ImageError } from "../base/errors.ts";
import { SingleFlight } from "../base/single-flight.ts";
import { basicAuthorization, type Challenge, mayAuthenticateAt, parseChallenges } from "./auth.ts";
import type { Credentials } from "./credentials.ts";
import { parseJson, registryFailure } from "./response-error.ts";
import { type RegistryTransport, type TransportResponse, withoutCredentials } from "./transport.ts";

/** Token answers are some KiB. */
const MAX_TOKEN_BYTES = 1024 * 1024;
/** What a token without a stated life is good for (distribution, "Token Authentication Specification"). */
const DEFAULT_TOKEN_SECONDS = 60;
/** A token is renewed so much before its end, as a request takes its time to get there. */
const TOKEN_MARGIN_MS = 5000;

interface Login {
  /** The header. */
  readonly authorization: string;
  /** Of `performance.now()`; the registry's clock is not asked. */
  readonly renewAt: number;
  readonly challenge: Challenge | undefined;
}

export interface LoginOptions {
  /** As image names spell it. */
  readonly registry: string;
  readonly repository: string;
  readonly auth: RegistryAuth | undefined;
  readonly credentials: Credentials | undefined;
  readonly trustedRealms: readonly string[];
}

/**
 * What one registry is sent as authorization, by scope. Credentials are looked up when the registry first asks for some:
 * public images cost no helper program.
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

  /** The header for these scopes, if there is one; a token that is about to end is renewed. */
  async authorization(scopes: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    const key = scopes.join(" ");
    const login = this.#logins.get(key);
    if (login?.challenge !== undefined && performance.now() >= login.renewAt) {
      this.#logins.delete(key);
      await this.#logIn([login.challenge], scopes, signal);
    }
    return this.#logins.get(key)?.authorization;
  }

  /** Answers a challenge (distribution's token authentication, or Basic), unless somebody has since. */
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

  /** What a refusal may be due to, for the message; never the credentials themselves. */
  refusal(): string {
    const hint =
      this.#known === undefined || !hasCredentials(this.#known)
        ? "; it may not exist, or needs credentials"
        : "; the credentials are not accepted for it";
    const withheld =
      this.#withheldFrom === undefined
        ? ""
        : ` (credentials were not sent to ${this.#withheldFrom}, which is another host than the registry)`;
    const failed = this.#credentialsError === undefined ? "" : ` (${this.#credentialsError.message})`;
    return `${hint}${withheld}${failed}`;
  }

  #logIn(challenges: readonly Challenge[], scopes: readonly string[], signal: AbortSignal): Promise<void> {
    // Layers are fetched side by side: they are all refused at once, and need one token.
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
        // Much is public: a broken helper is told of when the registry refuses us without.
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
      throw new ImageError("Unauthorized", `${registry.host} names no token server`);
    }
    if (parsed.protocol === "http:" && registry.protocol === "https:") {
      throw new ImageError("UnsafeAddress", `${registry.host} names a token server without https (${parsed.host})`);
    }
    const realm = withoutCredentials(parsed);
    // The scopes are our own words, not the registry's: a token is for what we are about to do and for nothing else.
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
    // A redirect is not followed: it could lead credentials anywhere.
    if (response.status !== 200) throw await registryFailure(this.#transport, response, "token", this.refusal(), false);
    const answer = parseJson(await this.#transport.read(response, MAX_TOKEN_BYTES, timed, "token answer"));
    const token = [answer["token"], answer["access_token"]].find((value) => typeof value === "string" && value !== "");
    if (typeof token !== "string") throw new ImageError("Unauthorized", `${realm.host} gave no token`);
    const stated = answer["expires_in"];
    const seconds = typeof stated === "number" && stated > 0 ? stated : DEFAULT_TOKEN_SECONDS;
    // A token of a few seconds is still used once.
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
  // A token with a line break in it would be a header of its own.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ImageError("Unauthorized", "the token is not one line of printable characters");
  return `Bearer ${token}`;
}
