import { listAt, textAt } from "@xfn/json";
import { type Informers, type LiveObject, WorkerSlots, workQueue } from "@xfn/kubernetes";
import { ApplyCache } from "../objects/apply-cache.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceOf, SECRETS, VALIDATING_WEBHOOKS } from "../objects/kinds.ts";
import type { Logger } from "../objects/logger.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { executeOrThrow } from "../plan/execute.ts";
import { planInOrder } from "../plan/plan.ts";
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
  const applies = new ApplyCache();
  const queue = workQueue({
    slots: new WorkerSlots(1),
    source: "admission-webhook",
    reconcile: async (_, signal) => {
      await ensureWebhook(port, applies, signal);
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
async function ensureWebhook(port: WebhookPort, applies: ApplyCache, signal: AbortSignal): Promise<void> {
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
  const options = { fieldManager: FIELD_MANAGERS.usage };
  if (configured === undefined || !applies.isApplied(configuration, configured, options))
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
  await executeOrThrow(planInOrder("webhook", actions), { actors: { own: port }, signal });
}

/** The certificates that a configuration trusts. */
function authoritiesOf(configured: LiveObject | undefined): string[] {
  const bundle = textAt(listAt(configured, "webhooks")[0], "clientConfig", "caBundle") ?? "";
  return certificatesIn(Buffer.from(bundle, "base64").toString("utf8"));
}
