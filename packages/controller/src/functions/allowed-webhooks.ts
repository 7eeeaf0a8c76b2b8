import type { WebhookCaller } from "@xfn/pipeline";
import { CompositeError } from "../objects/composite-error.ts";

/**
 * Calls webhooks of the hosts that the operator names. Otherwise the author of a Composition could make the controller
 * send requests to any server that it reaches.
 *
 * @param hosts names of hosts, or `*.` and a domain for all hosts below it
 * @param inner absent if there are none
 */
export function allowedWebhooks(hosts: readonly string[], inner: WebhookCaller | undefined): WebhookCaller {
  return {
    maxOutputBytes: inner?.maxOutputBytes,
    async call(url, input, options) {
      const { hostname } = new URL(url);
      if (inner === undefined || !hosts.some((host) => matches(host, hostname))) {
        throw new CompositeError(
          "WebhookNotAllowed",
          `Compositions may not call webhooks of ${hostname}; allow it with --webhook-hosts ${hostname}`,
        );
      }
      return await inner.call(url, input, options);
    },
  };
}

function matches(host: string, hostname: string): boolean {
  const wanted = host.toLowerCase();
  return wanted.startsWith("*.") ? hostname.endsWith(wanted.slice(1)) : hostname === wanted;
}
