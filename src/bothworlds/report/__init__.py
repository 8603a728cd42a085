"""Reports of a study, from the folder that ``bothworlds run`` wrote. Needs the extra ``lab``.

``study`` is the way in. Numbers come first (``numbers``), then what is made of them: ``text`` (tables and
sentences), ``charts``, and one HTML ``page``.
"""
