/** How the API server reaches the webhooks of this controller. */
export type WebhookAddress = { readonly service: string } | { readonly url: URL };

/** Reads the name of a Service, or an https:// URL of a host. @throws {Error} with the expected form */
export function webhookAddress(text: string): WebhookAddress {
  if (/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) return { service: text };
  const url = URL.parse(text);
  const isHost = url?.protocol === "https:" && url.pathname === "/" && url.username === "" && url.search === "";
  if (url !== null && isHost && url.hash === "") return { url };
  throw new Error(`${JSON.stringify(text)} must be the name of a Service, or https://HOST:PORT`);
}

/** The names that the certificate of the webhooks must have. */
export function certificateNames(address: WebhookAddress, namespace: string): readonly [string, ...string[]] {
  if ("url" in address) return [address.url.hostname.replace(/^\[|\]$/g, "")];
  const name = `${address.service}.${namespace}.svc`;
  return [name, `${name}.cluster.local`];
}
