// Builds the console into the Python package: `make console`. Users need none of this.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync, copyFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const target = "../src/seine/service/console";
const sources = [...walk("src"), "build.mjs", "package.json", "package-lock.json"].sort();

function walk(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });
}

// A test compares this with the sources, so that nobody forgets to build.
function fingerprint() {
  const hash = createHash("sha256");
  for (const path of sources) hash.update(path).update("\0").update(readFileSync(path)).update("\0");
  return hash.digest("hex");
}

function licences(inputs) {
  const names = new Set();
  for (const path of Object.keys(inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (match) names.add(match[1]);
  }
  const parts = [...names].sort().map((name) => {
    const folder = join("node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const source = typeof about.repository === "string" ? about.repository : about.repository?.url;
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : `Licence: ${about.license}`;
    return `${name} ${about.version} (${about.license})\n${source}\n\n${text}\n`;
  });
  return `The console has these libraries in it, as they were published.\n\n${parts.join("\n" + "-".repeat(72) + "\n\n")}`;
}

const result = await build({
  entryPoints: ["src/main.js"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  metafile: true,
  banner: { js: `// sources ${fingerprint()}; licences of libraries: third_party.txt` },
  outfile: `${target}/console.js`,
});
for (const name of ["index.html", "icon.svg", "console.css"]) copyFileSync(`src/${name}`, `${target}/${name}`);
writeFileSync(`${target}/third_party.txt`, licences(result.metafile.inputs));
