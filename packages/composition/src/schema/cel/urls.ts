import type { Environment } from "@marcbachmann/cel-js";
import { CelFunctionError } from "./failure.ts";

/** The URL library: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-url-library */
export function registerUrls(environment: Environment): void {
  environment.registerType("kubernetes.URL", CelUrl);
  const on = (signature: string, handler: (...args: never[]) => unknown): void =>
    void environment.registerFunction(signature, handler);
  on("isURL(string): bool", (text: string) => CelUrl.parse(text) !== undefined);
  on("url(string): kubernetes.URL", (text: string) => {
    const url = CelUrl.parse(text);
    if (url === undefined) throw new CelFunctionError("not a URL");
    return url;
  });
  on("kubernetes.URL.getScheme(): string", (url: CelUrl) => url.scheme);
  on("kubernetes.URL.getHost(): string", (url: CelUrl) => url.host);
  on("kubernetes.URL.getHostname(): string", (url: CelUrl) => url.hostname);
  on("kubernetes.URL.getPort(): string", (url: CelUrl) => url.port);
  on("kubernetes.URL.getEscapedPath(): string", (url: CelUrl) => url.path);
  on("kubernetes.URL.getQuery(): map<string, list<string>>", (url: CelUrl) => url.query());
  environment.registerOperator("kubernetes.URL == kubernetes.URL", (a: CelUrl, b: CelUrl) => a.text === b.text);
}

// JavaScript's URL drops default ports and normalizes paths. Kubernetes does not, so the parts come from the text.
const FORM =
  /^(?:([a-z][a-z0-9+.-]*):\/\/(?:[^/?#@]*@)?(\[[0-9a-f:.]+\]|[^/?#:@[\]]*)(?::([0-9]*))?)?([^?#]*)(?:\?([^#]*))?(?:#.*)?$/i;

/** A URL in an expression: absolute, or a path from the root. */
class CelUrl {
  readonly text: string;
  readonly scheme: string;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
  readonly #search: string;

  constructor(text: string, parts: readonly (string | undefined)[]) {
    const [scheme = "", hostname = "", port = "", path = "", search = ""] = parts;
    this.text = text;
    this.scheme = scheme;
    this.hostname = hostname.replace(/^\[(.*)\]$/, "$1");
    this.port = port;
    this.path = path;
    this.#search = search;
  }

  get host(): string {
    const hostname = this.hostname.includes(":") ? `[${this.hostname}]` : this.hostname;
    return this.port === "" ? hostname : `${hostname}:${this.port}`;
  }

  query(): Map<string, string[]> {
    const values = new Map<string, string[]>();
    for (const [key, value] of new URLSearchParams(this.#search)) values.set(key, [...(values.get(key) ?? []), value]);
    return values;
  }

  static parse(text: string): CelUrl | undefined {
    if (/[\u0000-\u0020\u007f]/.test(text) || /%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
    const parts = FORM.exec(text);
    if (parts === null || (parts[1] === undefined && !text.startsWith("/"))) return undefined;
    return new CelUrl(text, parts.slice(1));
  }
}
