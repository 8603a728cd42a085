"""Reports of a study, from the folder that ``bothworlds run`` wrote. Needs the extra ``lab``.

``study`` is the way in; it reads a ``folder``. Numbers come first (``numbers``), then what is made of them:
``tables`` for readers in several ``formats``, ``figures`` for papers, and one HTML ``page``; figures and page
share a ``palette``. ``decomposition`` takes regret apart as the paper's proof does.
"""
