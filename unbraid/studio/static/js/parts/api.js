// Where answers come from: the server, or the files of an exported page.

/** Contents of an exported page; undefined if there is a server. */
export const page = globalThis.UNBRAID_PAGE;

/** Ask for JSON; a refusal is thrown with the server's sentence. */
export async function getJson(path, options = {}) {
  if (page) {
    if (path in page.json) return page.json[path];
    throw new Error("This is not part of the exported page. Open the run with `unbraid studio`.");
  }
  const answer = await fetch(`api/${path}`, options).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Error("The studio does not answer. Is it still running?");
  });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error ?? `The studio refused (${answer.status}).`);
  return body;
}

/** Send JSON or a file. */
export function post(path, body) {
  const isFile = body instanceof Blob;
  const headers = { "x-studio": "1", "content-type": isFile ? "application/octet-stream" : "application/json" };
  return getJson(path, { method: "POST", headers, body: isFile ? body : JSON.stringify(body ?? {}) });
}

/** The part of an address that says which sequence is meant; always in the same order. */
export function query(recipe) {
  const names = recipe.x ? ["x"] : ["s", "d", "to", "share", "factor", "moves"];
  return names.filter((name) => recipe[name] !== undefined && recipe[name] !== "")
    .map((name) => `${name}=${encodeURIComponent(recipe[name])}`).join("&");
}

/** The address of a sequence as a file; undefined if an exported page does not hold it. */
export function address(run, recipe, form, more = "") {
  if (page) return page.media[`${form}?${query(recipe)}`];
  const version = encodeURIComponent(run.version || "data");
  return `api/runs/${run.key}/sequence.${form}?${query(recipe)}&v=${version}${more}`;
}

/** The address of a download. */
export function download(run, recipe, form) {
  return page ? address(run, recipe, form) : address(run, recipe, form, "&save=1");
}
