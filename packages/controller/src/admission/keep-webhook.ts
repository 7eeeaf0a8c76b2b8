import { isDeepStrictEqual } from "node:util";
import { listAt, textAt } from "@xfn/json";
import { type Informers, type LiveObject, WorkerSlots, workQueue } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceOf, SECRETS, VALIDATING_WEBHOOKS } from "../objects/kinds.ts";
import type { Logger } from "../objects/logger.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { execute } from "../plan/execute.ts";
import { firstFailure } from "../plan/outcome.ts";
import { type AuthorityPort, ensureAuthority } from "../runtime/authority.ts";
import { certificatesIn, isExpired } from "../runtime/certificates.ts";
import { certificateNames, type WebhookAddress } from "./webhook-address.ts";
import { WEBHOOK_CONFIGURATION, webhookConfiguration } from "./webhook-configuration.ts";
import { identityIn, renewedIdentity, WEBHOOK_SECRET } from "./webhook-identity.ts";

/** The needs of {@link keepWebhook}. */
export interface WebhookPort extends AuthorityPort {
  readonly informers: Informers;
  readonly log: Logger;
  readonly address: WebhookAddress;
}

// Certificates are renewed months before they expire.
const CHECK_MS = 60 * 60 * 1000;

/**
 * Keeps the certificate and the configuration of the admission webhook as they must be, until it is stopped. Only the
 * leader does.
 */
export function keepWebhook(port: WebhookPort): () => Promise<void> {
  const { informers, log, namespace } = port;
  const queue = workQueue({
    slots: new WorkerSlots(1),
    source: "admission-webhook",
    reconcile: async (_, signal) => {
      await ensureWebhook(port, signal);
      return { requeueAfterMs: CHECK_MS };
    },
    onFailure: ({ error }) => log.warn({ error: String(error) }, "cannot configure the admission webhook"),
  });
  const check = (): void => queue.add(WEBHOOK_CONFIGURATION);
  const watched = [
    informers.acquire(VALIDATING_WEBHOOKS, { fieldSelector: `metadata.name=${WEBHOOK_CONFIGURATION}` }),
    informers.acquire(SECRETS, { namespace, fieldSelector: `metadata.name=${WEBHOOK_SECRET}` }),
  ];
  const ends = watched.map(({ informer }) => informer.subscribe({ updated: check, deleted: check }));
  check();
  return async () => {
    for (const end of ends) end();
    await queue.stop(0);
    for (const { release } of watched) release();
  };
}

/** The configuration precedes the certificate, so that the API server trusts a new authority before it is used. */
async function ensureWebhook(port: WebhookPort, signal: AbortSignal): Promise<void> {
  const { namespace, address, now } = port;
  const authority = await ensureAuthority(port, signal);
  const secret = await findLive(port, referenceOf(SECRETS, WEBHOOK_SECRET, namespace), signal);
  const names = certificateNames(address, namespace);
  const renewed = await renewedIdentity(secret, { authority, names, namespace, now: now() });
  const path = identityIn((renewed as LiveObject | undefined) ?? secret)?.path ?? "";
  const configured = await findLive(port, referenceOf(VALIDATING_WEBHOOKS, WEBHOOK_CONFIGURATION), signal);
  const trusted = [authority.cert, ...authoritiesOf(configured)].filter((cert) => !isExpired(cert, now()));
  const configuration = webhookConfiguration(address, { namespace, path, caBundle: [...new Set(trusted)].join("") });
  const common = { as: "own", manager: FIELD_MANAGERS.usage, guard: "none" } as const;
  const actions: Action[] = [];
  if (!has(configured, configuration))
    actions.push({
      ...common,
      do: "apply",
      on: referenceTo(configuration),
      intent: configuration,
      seen: configured,
      why: "the API server must ask about deletions",
    });
  if (renewed !== undefined)
    actions.push({
      ...common,
      do: "apply",
      on: referenceTo(renewed),
      intent: renewed,
      seen: secret,
      why: "the certificate is missing, or must be renewed",
    });
  const plan = { stages: [{ name: "webhook", actions, onFailure: "stop" as const }] };
  const failure = firstFailure(await execute(plan, { actors: { own: port }, signal }));
  if (failure !== undefined) throw failure.error;
}

/** The certificates that a configuration trusts. */
function authoritiesOf(configured: LiveObject | undefined): string[] {
  const bundle = textAt(listAt(configured, "webhooks")[0], "clientConfig", "caBundle") ?? "";
  return certificatesIn(Buffer.from(bundle, "base64").toString("utf8"));
}

/** Whether a configuration has all fields of another one. The server adds defaults. */
function has(configured: LiveObject | undefined, wanted: object): boolean {
  const contains = (actual: unknown, part: unknown): boolean => {
    if (Array.isArray(part))
      return Array.isArray(actual) && actual.length === part.length && part.every((one, i) => contains(actual[i], one));
    if (part === null || typeof part !== "object") return isDeepStrictEqual(actual, part);
    return Object.entries(part).every(([key, value]) => contains((actual as Record<string, unknown>)?.[key], value));
  };
  return configured !== undefined && contains(configured, wanted);
}
