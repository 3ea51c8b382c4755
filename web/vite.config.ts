import { defineConfig, type Plugin } from 'vite';

/// The module is by far the largest file: the browser fetches it from the first lines of the page on, not when the script asks for it.
const fetchModuleFirst: Plugin = {
  name: 'fetch-module-first',
  transformIndexHtml: {
    order: 'post',
    handler: (_, { bundle }) =>
      Object.keys(bundle ?? {})
        .filter((name) => name.endsWith('.wasm'))
        .map((name) => ({
          tag: 'link',
          attrs: { rel: 'preload', as: 'fetch', crossorigin: true, type: 'application/wasm', href: `./${name}` },
          injectTo: 'head-prepend' as const,
        })),
  },
};

// The page stands in one folder with relative addresses, so that any static host serves it from any path.
export default defineConfig({
  base: './',
  plugins: [fetchModuleFirst],
  build: { outDir: '../build/web', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, license: { fileName: 'licenses.md' } },
  worker: { format: 'es' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: { fs: { allow: ['..'] } },
});
