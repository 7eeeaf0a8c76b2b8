import type { WebhookCaller } from "@xfn/pipeline";
import { CompositeError } from "../objects/composite-error.ts";

/** URLs omit the default port. */
const HTTPS_PORT = "443";

/**
 * Calls webhooks only on hosts that the operator names. Otherwise the author of a Composition could make the controller
 * send requests to any reachable server.
 *
 * @param hosts host names, or `*.` and a domain for all hosts below it. With `:PORT`, only this port is allowed
 * @param inner absent if webhooks are disabled
 */
export function allowedWebhooks(hosts: readonly string[], inner: WebhookCaller | undefined): WebhookCaller {
  return {
    maxOutputBytes: inner?.maxOutputBytes,
    async call(url, input, options) {
      const { hostname, host: address, port } = new URL(url);
      if (inner === undefined || !hosts.some((host) => matches(host, hostname, port || HTTPS_PORT))) {
        throw new CompositeError(
          "WebhookNotAllowed",
          `Compositions may not call webhooks of ${address}; allow it with --webhook-hosts ${address}`,
        );
      }
      return await inner.call(url, input, options);
    },
  };
}

function matches(host: string, hostname: string, port: string): boolean {
  const [wanted = "", wantedPort = port] = host.toLowerCase().split(":");
  if (wantedPort !== port) return false;
  return wanted.startsWith("*.") ? hostname.endsWith(wanted.slice(1)) : hostname === wanted;
}
